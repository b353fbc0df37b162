#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace kusari::cuda::emulated {

/// Whether a kernel of the calling thread may go to the stream: the stream's device is the current one.
bool is_of_current_device(cudaStream_t stream);
/// Whether a library's may, too. Libraries use the driver, which knows the device of a thread only after the thread has
/// set it through the runtime, or has had memory or a kernel from it.
bool can_call_library(cudaStream_t stream);

/// Whether a kernel may have so many bytes of dynamic shared memory: more than 48 KiB are asked for by
/// cudaFuncSetAttribute first, on each device.
bool may_have_shared(const void* kernel, size_t bytes);
bool may_have_shared(const void* kernel, size_t bytes, int device);

}  // namespace kusari::cuda::emulated
