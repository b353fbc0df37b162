#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/autograd/array_refs.h"
#include "kusari/framework/autograd/type_check.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/reference_count.h"

namespace kusari {

/// What autocast does with the floating inputs of a function.
enum class Precision : uint8_t {
  listed,     ///< what its lists say for the function's name
  low,        ///< converts them to the 16-bit dtype
  full,       ///< converts 16-bit ones to float32
  widest,     ///< converts them to the widest dtype among them, where they differ
  untouched,  ///< nothing
};

class Attributes;
class BackwardPass;

/// A vertex between variables: one application of a function. docs/extending.md has a whole example of a subclass.
///
/// `forward` computes arrays; `backward` computes with differentiable functions, so that gradients of gradients work.
/// What backward needs from forward must be named there with retain_inputs / retain_outputs; everything else is freed
/// as soon as the caller drops it. chainer.FunctionNode.
class KUSARI_API FunctionNode {
 public:
  static void* operator new(size_t bytes) { return memory::allocate(bytes); }
  static void operator delete(void* node, size_t bytes) noexcept { memory::deallocate(node, bytes); }

  FunctionNode() = default;
  FunctionNode(const FunctionNode&) = delete;
  FunctionNode& operator=(const FunctionNode&) = delete;
  virtual ~FunctionNode();

  /// Chainer's name of the function, without "F::".
  virtual const char* name() const = 0;
  /// What amp::Autocast does with the inputs. A function of your own says here how it wants to be computed.
  virtual Precision precision() const noexcept { return Precision::listed; }
  /// Tells the options of this call, those that its inputs do not show: `options.set("axis", axis_)`. Exporters read
  /// them, and drawings and messages show them. After forward it may also tell what that decided.
  virtual void describe(Attributes& /*options*/) const {}
  int rank() const noexcept { return rank_; }
  size_t input_count() const noexcept { return inputs_.size(); }
  size_t output_count() const noexcept { return outputs_.size(); }
  /// Input i as a leaf of the recorded graph; undefined for an absent one.
  detail::VariableNode* input_node(size_t i) const noexcept { return inputs_[i].get(); }
  /// Output i, or null when nothing refers to it any more.
  detail::VariableNode* output_node(size_t i) const noexcept { return outputs_[i]; }
  /// Cuts this function out of the graph.
  void unchain() noexcept;
  void forget_output(size_t i) noexcept { outputs_[i] = nullptr; }
  /// Frees what forward retained for backward, which then cannot be called again.
  void release_retained() noexcept;

  void retain() noexcept { detail::add_references(references_, 1u); }
  void release() noexcept {
    if (detail::drop_reference(references_)) delete this;
  }

 protected:
  /// The rules that the inputs must keep; runs before forward unless config.type_check is off.
  virtual void check(const TypeCheck&) const {}
  /// Whether input i may be absent, an undefined variable; so may one of which the rules ask is_given(), but that takes
  /// asking them. For another that is absent the call throws TypeError.
  virtual bool is_optional(size_t) const noexcept { return false; }
  virtual Arrays forward(const ArrayRefs& in) = 0;
  /// Gradients of the inputs (undefined: none) from those of the outputs (undefined: zero). `gy` has one entry per
  /// output; the result one per input. Gradients of inputs with !needs_grad(i) may be left undefined.
  virtual Variables backward(const Variables& gy) = 0;
  /// The outputs once more, from what was retained; for functions that call allow_recompute().
  virtual Arrays recompute();

  /// In forward: backward will ask for retained_input(i).
  void retain_inputs(std::initializer_list<int> indices) noexcept {
    for (int i : indices) retained_inputs_ |= 1u << i;
  }
  void retain_outputs(std::initializer_list<int> indices) noexcept {
    for (int i : indices) retained_outputs_ |= 1u << i;
  }
  /// In forward: the outputs need not stay for the functions that retain them, recompute() gives them again cheaply.
  void allow_recompute() noexcept { recomputable_ = true; }
  /// In backward: an input or output that forward retained, connected to the graph.
  Variable retained_input(size_t i) const;
  Variable retained_output(size_t i);
  /// In backward: shape and dtype of input i, retained or not.
  const Shape& input_shape(size_t i) const { return inputs_[i]->shape(); }
  Dtype input_dtype(size_t i) const { return inputs_[i]->dtype(); }
  bool has_input(size_t i) const noexcept { return static_cast<bool>(inputs_[i]); }
  /// In backward: whether anybody wants the gradient of input i.
  bool needs_grad(size_t i) const noexcept { return inputs_[i] && inputs_[i]->requires_grad; }
  /// In backward where nobody differentiates further: the sum of the gradients that input i has got from other
  /// functions, if nobody else sees it. The function adds its own in place and gives the array as the gradient of input
  /// i; it may not drop it. Otherwise undefined, and the pass adds them.
  Array take_gradient_so_far(size_t i);
  /// In forward: whether backward may come (a graph is being recorded), so that extra results are worth keeping.
  bool is_recording() const noexcept { return recording_; }

 private:
  friend class detail::VariableNode;
  friend class BackwardPass;
  friend struct FunctionApplication;

  void restore_outputs();
  [[noreturn]] void throw_not_retained(const char* what, size_t i) const;

  // Fields in the order of their use, the hot ones beside the vtable pointer.
  std::atomic<uint32_t> references_{0};  // threads may drop the outputs of one function
  int32_t rank_ = 0;
  uint32_t retained_inputs_ = 0;
  uint32_t retained_outputs_ = 0;
  bool recording_ = false;
  bool recomputable_ = false;
  bool released_ = false;
  uint64_t seen_by_ = 0;          // the backward pass that has queued this function
  BackwardPass* pass_ = nullptr;  // that runs its backward now
  SmallVector<IntrusivePtr<detail::VariableNode>, 3> inputs_;
  SmallVector<detail::VariableNode*, 1> outputs_;  // weak: a vertex that dies clears its entry
  Owned<Arrays> output_arrays_;                    // retained outputs by index; null when none of several is
};

inline detail::VariableNode::VariableNode(Array data, bool needs_grad) noexcept
    : array{std::move(data)}, requires_grad{needs_grad} {}

/// Runs a function: checks, hooks, forward and, when wanted, recording.
struct KUSARI_API FunctionApplication {
  static bool wants_graph(std::span<const Variable* const> inputs) noexcept;
  static Variable run_single(FunctionNode& function, std::span<const Variable* const> inputs);
  static Variables run(FunctionNode& function, std::span<const Variable* const> inputs);
  static void set_recording(FunctionNode& function) noexcept { function.recording_ = true; }

 private:
  static Variable run_plain_single(FunctionNode& function, std::span<const Variable* const> inputs);
  static Variables run_plain(FunctionNode& function, std::span<const Variable* const> inputs);
  static void require_inputs(const FunctionNode& function, const ArrayRefs& in);
  static Arrays compute(FunctionNode& function, std::span<const Variable* const> inputs);
  static void record(FunctionNode& function, std::span<const Variable* const> inputs);
  static void tell_hooks(const FunctionNode& function, std::span<const Variable* const> inputs,
                         std::span<const Variable> outputs);
  static Variable connect(FunctionNode& function, Array array, size_t index);
};

/// A reference to an input that binds to variables and raw arrays alike, without touching counts.
class InputRef {
 public:
  InputRef(const Variable& variable) noexcept : variable_{&variable} {}
  const Variable* get() const noexcept { return variable_; }

 private:
  const Variable* variable_;
};

/// Applies function F, made from `args`, to the inputs: `return apply<Softplus>({x}, beta);`
template <class F, size_t N, class... Args>
Variable apply(const InputRef (&inputs)[N], Args&&... args) {
  const Variable* pointers[N];
  for (size_t i = 0; i < N; ++i) pointers[i] = inputs[i].get();
  if (FunctionApplication::wants_graph(pointers)) {
    const IntrusivePtr<FunctionNode> function(new F(std::forward<Args>(args)...));
    FunctionApplication::set_recording(*function);
    return FunctionApplication::run_single(*function, pointers);
  }
  F function(std::forward<Args>(args)...);
  return FunctionApplication::run_single(function, pointers);
}

/// The same for functions with any number of inputs and outputs.
template <class F, class... Args>
Variables apply_all(std::span<const Variable> inputs, Args&&... args) {
  SmallVector<const Variable*, 4> pointers;
  for (const Variable& input : inputs) pointers.push_back(&input);
  const std::span<const Variable* const> refs(pointers.data(), pointers.size());
  if (FunctionApplication::wants_graph(refs)) {
    const IntrusivePtr<FunctionNode> function(new F(std::forward<Args>(args)...));
    FunctionApplication::set_recording(*function);
    return FunctionApplication::run(*function, refs);
  }
  F function(std::forward<Args>(args)...);
  return FunctionApplication::run(function, refs);
}
template <class F, class... Args>
Variables apply_all(std::initializer_list<Variable> inputs, Args&&... args) {
  return apply_all<F>(std::span<const Variable>(inputs.begin(), inputs.size()), std::forward<Args>(args)...);
}

}  // namespace kusari
