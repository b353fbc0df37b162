#pragma once

#include <span>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/export.h"

namespace kusari {

class FunctionHook;

namespace detail {

// The hooks of this thread in the order of their installation, linked through FunctionHook::next_.
KUSARI_API extern constinit thread_local FunctionHook* t_function_hooks __attribute__((tls_model("initial-exec")));

}  // namespace detail

/// Sees every function of a thread before and after its forward and its backward computation, also the functions that
/// run inside a backward. Install one with ScopedFunctionHook. An exception from a hook leaves through the function
/// call. chainer.FunctionHook.
class KUSARI_API FunctionHook {
 public:
  FunctionHook() = default;
  FunctionHook(const FunctionHook&) = delete;
  FunctionHook& operator=(const FunctionHook&) = delete;
  virtual ~FunctionHook();

  virtual void forward_preprocess(const FunctionNode&, const ArrayRefs& /*in*/) {}
  virtual void forward_postprocess(const FunctionNode&, const ArrayRefs& /*in*/, const Arrays& /*out*/) {}
  /// After that, the variables of the call, whose nodes are the values' identities: an output is an input of later
  /// calls, with or without a graph. Not called for what a backward computes without functions.
  virtual void called(const FunctionNode&, std::span<const Variable* const> /*in*/, std::span<const Variable> /*out*/) {
  }
  /// `gy`: gradients of the outputs, undefined where there is none.
  virtual void backward_preprocess(const FunctionNode&, const Variables& /*gy*/) {}
  /// `gx`: gradients of the inputs, undefined where there is none.
  virtual void backward_postprocess(const FunctionNode&, const Variables& /*gy*/, const Variables& /*gx*/) {}

  /// Whether backward_postprocess must see the gradients of each function alone. Else functions that can add theirs to
  /// what other branches have given do so, as without a hook, and it sees the sums.
  virtual bool wants_own_gradients() const noexcept { return true; }

  FunctionHook* next() const noexcept { return next_; }

 private:
  friend class ScopedFunctionHook;
  FunctionHook* next_ = nullptr;
  bool installed_ = false;
};

/// Installs a hook on this thread for the object's life, after the hooks that are there:
/// `TimerHook timer; { const ScopedFunctionHook scope(timer); model(x).backward(); }`.
/// Throws StateError when the hook is installed already.
class KUSARI_API ScopedFunctionHook {
 public:
  explicit ScopedFunctionHook(FunctionHook& hook);
  ScopedFunctionHook(const ScopedFunctionHook&) = delete;
  ScopedFunctionHook& operator=(const ScopedFunctionHook&) = delete;
  ~ScopedFunctionHook();

 private:
  FunctionHook* hook_;
};

namespace detail {

// For the engine: nothing but a test of one pointer while no hook is installed.
inline void call_forward_preprocess(const FunctionNode& function, const ArrayRefs& in) {
  for (FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) {
    hook->forward_preprocess(function, in);
  }
}
inline void call_forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) {
  for (FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) {
    hook->forward_postprocess(function, in, out);
  }
}
inline void call_called(const FunctionNode& function, std::span<const Variable* const> in,
                        std::span<const Variable> out) {
  for (FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) hook->called(function, in, out);
}
inline bool hooks_want_own_gradients() noexcept {
  for (const FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) {
    if (hook->wants_own_gradients()) return true;
  }
  return false;
}
inline void call_backward_preprocess(const FunctionNode& function, const Variables& gy) {
  for (FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) {
    hook->backward_preprocess(function, gy);
  }
}
inline void call_backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) {
  for (FunctionHook* hook = t_function_hooks; hook != nullptr; hook = hook->next()) {
    hook->backward_postprocess(function, gy, gx);
  }
}

}  // namespace detail

}  // namespace kusari
