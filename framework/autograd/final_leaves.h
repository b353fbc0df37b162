#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// Hears during a backward pass which leaves have their gradients: when no function is left that takes them. Those that
/// no gradient reaches it does not hear of.
class KUSARI_API FinalLeaves {
 public:
  virtual ~FinalLeaves();
  virtual void is_final(VariableNode* leaf) = 0;
  /// After each function.
  virtual void look() = 0;

 protected:
  FinalLeaves() = default;
  FinalLeaves(const FinalLeaves&) = default;
  FinalLeaves& operator=(const FinalLeaves&) = default;
};

/// Installs one for the next backward pass of this thread that is not inside of another.
class KUSARI_API ScopedFinalLeaves {
 public:
  explicit ScopedFinalLeaves(FinalLeaves* listener) noexcept;
  ScopedFinalLeaves(const ScopedFinalLeaves&) = delete;
  ScopedFinalLeaves& operator=(const ScopedFinalLeaves&) = delete;
  ~ScopedFinalLeaves();
};
/// Takes it away; null without one.
FinalLeaves* take_final_leaves() noexcept;

/// How often the functions below some roots take each leaf.
class LeafUses {
 public:
  LeafUses(std::span<const Variable> roots, FinalLeaves& listener);
  /// The function's backward is done.
  void count_down(const FunctionNode& function);

 private:
  FinalLeaves& listener_;
  std::unordered_map<const VariableNode*, size_t> uses_;
};

}  // namespace kusari::detail
