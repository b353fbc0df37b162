#pragma once

#include "kusari/framework/autograd/function_hook.h"

namespace kusari::function_hooks {

/// Throws Error, naming the function, as soon as a forward or backward computation gives a NaN:
/// "NaN is detected on forward computation of log". config().debug does this for forward alone.
class KUSARI_API NanCheckHook final : public FunctionHook {
 public:
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;
};

}  // namespace kusari::function_hooks
