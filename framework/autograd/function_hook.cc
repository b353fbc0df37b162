#include "kusari/framework/autograd/function_hook.h"

#include "kusari/framework/core/error.h"

namespace kusari {

constinit thread_local FunctionHook* detail::t_function_hooks = nullptr;

FunctionHook::~FunctionHook() = default;

ScopedFunctionHook::ScopedFunctionHook(FunctionHook& hook) : hook_{&hook} {
  if (hook.installed_) throw StateError("ScopedFunctionHook: this hook is installed already");
  FunctionHook** end = &detail::t_function_hooks;
  while (*end != nullptr) end = &(*end)->next_;
  *end = &hook;
  hook.installed_ = true;
}

ScopedFunctionHook::~ScopedFunctionHook() {
  FunctionHook** link = &detail::t_function_hooks;
  while (*link != nullptr && *link != hook_) link = &(*link)->next_;
  if (*link != nullptr) *link = hook_->next_;
  hook_->next_ = nullptr;
  hook_->installed_ = false;
}

}  // namespace kusari
