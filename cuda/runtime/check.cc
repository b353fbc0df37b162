#include "kusari/cuda/runtime/check.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

[[noreturn]] void fail(const char* expression, const std::string& status, const char* file, int line) {
  throw DeviceError(std::string(expression) + " failed: " + status + " (" + file + ":" + std::to_string(line) + ")");
}

// What the library's text leaves out.
const char* advice_for(cudaError_t status) {
  switch (status) {
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
      return "; a kernel that was enqueued earlier has failed, which CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer "
             "names, "
             "and this process cannot use the device any more";
    case cudaErrorInitializationError:
      return "; a process that was forked after CUDA's first use cannot use it";
    case cudaErrorNoKernelImageForDevice:
      return "; libkusari_cuda.so was built for other cards, see CMAKE_CUDA_ARCHITECTURES";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorCapturedEvent:
      return "; it is not allowed while a graph is captured";
    default:
      return "";
  }
}

}  // namespace

void check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();  // an error that is not sticky is told once
  const std::string text =
      std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status) + advice_for(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemoryError(std::string(expression) + " failed: " + text);
  fail(expression, text, file, line);
}

void check(cublasStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  fail(expression, cublasLtGetStatusName(status), file, line);
}

void check(cudnnStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return;
  char message[512] = "";
  cudnnGetLastErrorString(message, sizeof(message));
  fail(expression, std::string(cudnnGetErrorString(status)) + (message[0] != '\0' ? ", " : "") + message, file, line);
}

}  // namespace kusari::cuda
