#pragma once

#include "kusari/framework/autograd/function_hook.h"

namespace kusari::function_hooks {

/// Shows every function's forward and backward as an NVTX range with name, dtypes and shapes in Nsight Systems, for the
/// part of a program in which it is installed; KUSARI_NVTX=1 does it for the whole program, with the trainer's phases.
/// Throws DeviceError without the CUDA backend's library. chainer.function_hooks.CUDAProfileHook.
class KUSARI_API CUDAProfileHook final : public FunctionHook {
 public:
  CUDAProfileHook();

  void forward_preprocess(const FunctionNode& function, const ArrayRefs& in) override;
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override;
  void backward_preprocess(const FunctionNode& function, const Variables& gy) override;
  void backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables& gx) override;
  bool wants_own_gradients() const noexcept override { return false; }

 private:
  Backend& backend_;
};

}  // namespace kusari::function_hooks
