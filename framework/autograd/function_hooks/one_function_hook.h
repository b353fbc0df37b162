#pragma once

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"

namespace kusari::function_hooks {

/// Lets a hook see the backward computations of one function of a graph alone:
/// `OneFunctionHook only(y, hook); const ScopedFunctionHook scope(only); loss.backward();`
/// Both hooks must live as long as the scope. chainer.FunctionNode.add_hook.
class KUSARI_API OneFunctionHook final : public FunctionHook {
 public:
  /// Of the function that gave `output`. Throws ValueError for a variable that no function gave.
  OneFunctionHook(const Variable& output, FunctionHook& hook);

  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;

 private:
  IntrusivePtr<FunctionNode> only_;
  FunctionHook& hook_;
};

}  // namespace kusari::function_hooks
