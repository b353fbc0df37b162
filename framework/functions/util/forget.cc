#include "kusari/framework/functions/util/forget.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random_replay.h"

namespace kusari::functions {
namespace {

using kusari::detail::VariableNode;

/// Gives this thread other settings for the object's life.
class ScopedConfig {
 public:
  explicit ScopedConfig(const ConfigSnapshot& settings) { settings.install(); }
  ScopedConfig(const ScopedConfig&) = delete;
  ScopedConfig& operator=(const ScopedConfig&) = delete;
  ~ScopedConfig() { before_.install(); }

 private:
  const ConfigSnapshot before_;
};

/// The settings in force, those of the global Config as this thread's own: they may change until backward.
ConfigSnapshot settings_in_force() {
  const ConfigSnapshot before;
  config().for_each([](const char*, auto& setting) { setting = setting.get(); });
  const ConfigSnapshot all;
  before.install();
  return all;
}

/// A function with what it depends on beside its arguments, to be called a second time alike.
class Repeatable {
 public:
  explicit Repeatable(Callable<Variables(const Variables&)> function)
      : function_{std::move(function)}, settings_{settings_in_force()} {
    if (kusari::detail::t_input_caster != nullptr) make_caster_ = kusari::detail::t_input_caster->maker();
  }

  Variables call(const Variables& xs) {
    const std::shared_ptr<void> caster = make_caster_ ? make_caster_() : nullptr;
    const random::DrawRecording recording(draws_);
    return function_(xs);
  }

  Variables call_again(const Variables& xs) const {
    const ScopedConfig as_before(settings_);
    const auto with_graph = force_backprop_mode();
    const auto recomputing = using_config(&Config::in_recomputing, true);
    const std::shared_ptr<void> caster = make_caster_ ? make_caster_() : nullptr;
    const random::DrawReplay replay(draws_, "F::forget");
    return function_(xs);
  }

 private:
  Callable<Variables(const Variables&)> function_;
  ConfigSnapshot settings_;
  Callable<std::shared_ptr<void>()> make_caster_;
  std::vector<random::Draw> draws_;
};

/// The functions that are applied while it is installed.
class Applied final : public FunctionHook {
 public:
  void forward_preprocess(const FunctionNode& function, const ArrayRefs&) override { functions_.insert(&function); }
  bool contains(const FunctionNode* function) const { return functions_.contains(function); }

 private:
  std::unordered_set<const FunctionNode*> functions_;
};

/// The variables that `results` depend on through functions applied here, beside `xs`: parameters, mostly.
Variables used_beside(const Variables& xs, const Variables& results, const Applied& applied) {
  std::unordered_set<VariableNode*> seen;
  for (const Variable& x : xs) seen.insert(x.node());
  std::vector<FunctionNode*> pending;
  Variables used;
  const auto visit = [&](VariableNode* node) {
    if (node == nullptr || !node->requires_grad || !seen.insert(node).second) return;
    if (node->creator && applied.contains(node->creator.get())) {
      pending.push_back(node->creator.get());
    } else if (node->creator || node->handles() > 0) {  // otherwise nobody can ask for the gradient
      used.push_back(Variable(node));
    }
  };
  for (const Variable& result : results) visit(result.node());
  while (!pending.empty()) {
    FunctionNode* const function = pending.back();
    pending.pop_back();
    for (size_t i = 0; i < function->input_count(); ++i) visit(function->input_node(i));
  }
  return used;
}

/// Makes leaves of variables for the object's life, so that gradients end there.
class ScopedLeaves {
 public:
  explicit ScopedLeaves(const Variables& variables) {
    for (const Variable& v : variables) creators_.push_back({v, std::move(v.node()->creator)});
  }
  ScopedLeaves(const ScopedLeaves&) = delete;
  ScopedLeaves& operator=(const ScopedLeaves&) = delete;
  ~ScopedLeaves() {
    for (auto& [variable, creator] : creators_) variable.node()->creator = std::move(creator);
  }

 private:
  std::vector<std::pair<Variable, IntrusivePtr<FunctionNode>>> creators_;
};

/// From the arguments of a function, and after them what it used beside, to its results.
class Forget final : public FunctionNode {
 public:
  Forget(std::shared_ptr<const Repeatable> function, size_t arguments, Arrays results)
      : function_{std::move(function)}, arguments_{arguments}, results_{std::move(results)} {}
  const char* name() const override { return "forget"; }
  void describe(Attributes& options) const override { options.set("arguments", arguments_); }
  Precision precision() const noexcept override { return Precision::untouched; }
  /// What retain_inputs() has no room for.
  void hold(const Variable& input) { held_.push_back(input); }

  static constexpr size_t kRetainable = 32;

 private:
  bool is_optional(size_t) const noexcept override { return true; }
  Arrays forward(const ArrayRefs& in) override {
    for (size_t i = 0; i < std::min(in.size(), kRetainable); ++i) retain_inputs({static_cast<int>(i)});
    return std::move(results_);
  }

  Variables backward(const Variables& gy) override {
    const bool is_differentiable = config().enable_backprop;
    Variables inputs(input_count()), arguments, targets, roots, seeds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (has_input(i)) inputs[i] = i < kRetainable ? retained_input(i) : held_[i - kRetainable];
      if (i < arguments_) arguments.push_back(inputs[i]);
    }
    const Variables results = function_->call_again(arguments);
    check_count(results);
    for (size_t i = 0; i < gy.size(); ++i) {
      if (!gy[i].is_defined()) continue;
      check_result(i, results[i], gy[i]);
      roots.push_back(results[i]);
      seeds.push_back(gy[i]);
    }
    std::vector<size_t> places;  // a variable that is given twice gets its gradient once
    std::unordered_set<VariableNode*> seen;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!needs_grad(i) || !seen.insert(inputs[i].node()).second) continue;
      places.push_back(i);
      targets.push_back(inputs[i]);
    }
    const ScopedLeaves leaves(targets);
    const Variables found = grad({roots.data(), roots.size()}, {targets.data(), targets.size()},
                                 {.grad_outputs = {seeds.data(), seeds.size()},
                                  .enable_double_backprop = is_differentiable,
                                  .release_graph = !is_differentiable});
    Variables gx(inputs.size());
    for (size_t k = 0; k < places.size(); ++k) gx[places[k]] = found[k];
    return gx;
  }

  void check_count(const Variables& results) const {
    if (results.size() == output_count()) return;
    throw TypeError("F::forget: the function returned " + std::to_string(output_count()) +
                    " variables, but when it was called again " + std::to_string(results.size()));
  }
  static void check_result(size_t i, const Variable& result, const Variable& gy) {
    if (result.is_defined() && result.shape() == gy.shape() && result.dtype() == gy.dtype()) return;
    throw TypeError("F::forget: result " + std::to_string(i) + " of the function has shape " + to_string(gy.shape()) +
                    " and dtype " + kusari::name(gy.dtype()) + ", but when it was called again " +
                    (result.is_defined() ? to_string(result.shape()) + " and " + kusari::name(result.dtype())
                                         : std::string("it was undefined")));
  }

  std::shared_ptr<const Repeatable> function_;
  size_t arguments_;
  Arrays results_;
  Variables held_;
};

}  // namespace

Variables detail::forget(Callable<Variables(const Variables&)> function, const Variables& xs) {
  if (!function) throw ValueError("F::forget: function is empty: it must be callable");

  if (!config().enable_backprop) return function(xs);
  const auto repeatable = std::make_shared<Repeatable>(std::move(function));
  Variables inputs = xs;
  Arrays results;
  {
    // With a graph, which tells what was used, but for the time of this call only.
    Applied applied;
    Variables outputs;
    {
      const ScopedFunctionHook scope(applied);
      outputs = repeatable->call(xs);
    }
    for (const Variable& used : used_beside(xs, outputs, applied)) inputs.push_back(used);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_defined()) {
        throw TypeError("F::forget: result " + std::to_string(i) + " of the function is an undefined variable");
      }
      results.push_back(outputs[i].array());
    }
  }
  SmallVector<const Variable*, 4> refs;
  for (const Variable& input : inputs) refs.push_back(&input);
  const std::span<const Variable* const> span(refs.data(), refs.size());
  const IntrusivePtr<Forget> node(new Forget(repeatable, xs.size(), std::move(results)));
  if (FunctionApplication::wants_graph(span)) {
    FunctionApplication::set_recording(*node);
    for (size_t i = Forget::kRetainable; i < inputs.size(); ++i) node->hold(inputs[i]);
  }
  return FunctionApplication::run(*node, span);
}

}  // namespace kusari::functions
