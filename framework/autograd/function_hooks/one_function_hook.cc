#include "kusari/framework/autograd/function_hooks/one_function_hook.h"

#include "kusari/framework/core/error.h"

namespace kusari::function_hooks {

OneFunctionHook::OneFunctionHook(const Variable& output, FunctionHook& hook)
    : only_{output.is_defined() ? output.creator() : nullptr}, hook_{hook} {
  if (!only_) throw ValueError("OneFunctionHook: output is no result of a function whose graph is recorded");
}

void OneFunctionHook::backward_preprocess(const FunctionNode& function, const Variables& gy) {
  if (&function == only_.get()) hook_.backward_preprocess(function, gy);
}

void OneFunctionHook::backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) {
  if (&function == only_.get()) hook_.backward_postprocess(function, gy, gx);
}

}  // namespace kusari::function_hooks
