#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace kusari::cuda {

/// Throw DeviceError with the expression, the library's name and text of the status, file and line, unless it is
/// success. Out of memory throws OutOfMemoryError.
void check(cudaError_t status, const char* expression, const char* file, int line);
void check(cublasStatus_t status, const char* expression, const char* file, int line);
void check(cudnnStatus_t status, const char* expression, const char* file, int line);

}  // namespace kusari::cuda

#define KUSARI_CUDA_CHECK(expression) ::kusari::cuda::check((expression), #expression, __FILE__, __LINE__)
