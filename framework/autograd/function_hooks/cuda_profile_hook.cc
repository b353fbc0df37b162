#include "kusari/framework/autograd/function_hooks/cuda_profile_hook.h"

#include "kusari/framework/autograd/function_range.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"

namespace kusari::function_hooks {
namespace {

Backend& loaded_backend() {
  Backend* const backend = detail::cuda_backend();
  if (backend == nullptr) throw DeviceError("CUDAProfileHook: libkusari_cuda.so, which has NVTX, cannot be loaded");
  return *backend;
}

}  // namespace

CUDAProfileHook::CUDAProfileHook() : backend_{loaded_backend()} {}

void CUDAProfileHook::forward_preprocess(const FunctionNode& function, const ArrayRefs& in) {
  backend_.push_range(autograd::range_text(function, "forward", in).c_str());
}
void CUDAProfileHook::forward_postprocess(const FunctionNode&, const ArrayRefs&, const Arrays&) {
  backend_.pop_range();
}
void CUDAProfileHook::backward_preprocess(const FunctionNode& function, const Variables& gy) {
  backend_.push_range(autograd::range_text(function, "backward", gy).c_str());
}
void CUDAProfileHook::backward_postprocess(const FunctionNode&, const Variables&, const Variables&) {
  backend_.pop_range();
}

}  // namespace kusari::function_hooks
