#include "kusari/framework/autograd/final_leaves.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace kusari::detail {
namespace {

constinit thread_local FinalLeaves* t_final_leaves __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

FinalLeaves::~FinalLeaves() = default;

ScopedFinalLeaves::ScopedFinalLeaves(FinalLeaves* listener) noexcept { t_final_leaves = listener; }
ScopedFinalLeaves::~ScopedFinalLeaves() { t_final_leaves = nullptr; }

FinalLeaves* take_final_leaves() noexcept { return std::exchange(t_final_leaves, nullptr); }

LeafUses::LeafUses(std::span<const Variable> roots, FinalLeaves& listener) : listener_{listener} {
  std::unordered_set<const FunctionNode*> seen;
  std::vector<const FunctionNode*> pending;
  const auto visit = [&](const VariableNode* node) {
    if (node != nullptr && node->creator && seen.insert(node->creator.get()).second) {
      pending.push_back(node->creator.get());
    }
  };
  for (const Variable& root : roots) visit(root.node());
  while (!pending.empty()) {
    const FunctionNode* const function = pending.back();
    pending.pop_back();
    for (size_t i = 0; i < function->input_count(); ++i) {
      const VariableNode* const input = function->input_node(i);
      if (input != nullptr && input->is_leaf() && input->requires_grad) ++uses_[input];
      visit(input);
    }
  }
}

void LeafUses::count_down(const FunctionNode& function) {
  for (size_t i = 0; i < function.input_count(); ++i) {
    VariableNode* const input = function.input_node(i);
    if (input == nullptr || !input->is_leaf() || !input->requires_grad) continue;
    const auto found = uses_.find(input);
    if (found != uses_.end() && --found->second == 0) listener_.is_final(input);
  }
  listener_.look();
}

}  // namespace kusari::detail
