// cuDNN's handles and error texts, for the emulated device.

#include <cudnn.h>

#include <cstdio>

#include "cudnn_error.h"
#include "graphs.h"
#include "thread_device.h"

using namespace kusari::cuda::emulated;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {
thread_local char t_message[512] = "";
}  // namespace

namespace kusari::cuda::emulated {

cudnnStatus_t cudnn_failure(cudnnStatus_t status, const char* message) {
  std::snprintf(t_message, sizeof(t_message), "%s", message);
  return status;
}

}  // namespace kusari::cuda::emulated

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    default:
      return "CUDNN_STATUS of another kind";
  }
}
void cudnnGetLastErrorString(char* message, size_t bytes) {
  std::snprintf(message, bytes, "%s", t_message);
  t_message[0] = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (unsafe_call() != cudaSuccess) return cudnn_failure(CUDNN_STATUS_INTERNAL_ERROR, "the thread captures a stream");
  return *handle = new cudnnContext, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (stream != nullptr && !is_of_current_device(stream)) {
    return cudnn_failure(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
                         "the stream is of another device than the current one");
  }
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
