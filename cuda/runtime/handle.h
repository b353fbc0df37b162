#pragma once

#include <utility>

#include "kusari/cuda/runtime/check.h"

namespace kusari::cuda {

/// Owns a handle of one of the CUDA libraries: made by Create(&raw), given back by Destroy(raw). Movable.
template <class Raw, auto Create, auto Destroy>
class Handle {
 public:
  Handle() { check(Create(&raw_), __PRETTY_FUNCTION__, __FILE__, __LINE__); }  // which names Create
  Handle(Handle&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)} {}
  Handle& operator=(Handle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() {
    if (raw_ != nullptr) Destroy(raw_);  // never throws, never skipped
  }
  Raw get() const noexcept { return raw_; }

 private:
  Raw raw_ = nullptr;
};

/// A stream that does not wait for the legacy default stream.
inline cudaError_t create_nonblocking_stream(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
inline cudaError_t create_untimed_event(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
inline cudaError_t create_timed_event(cudaEvent_t* event) { return cudaEventCreate(event); }

using Stream = Handle<cudaStream_t, create_nonblocking_stream, cudaStreamDestroy>;
using OrderEvent = Handle<cudaEvent_t, create_untimed_event, cudaEventDestroy>;
using TimedEvent = Handle<cudaEvent_t, create_timed_event, cudaEventDestroy>;
using CublasLt = Handle<cublasLtHandle_t, cublasLtCreate, cublasLtDestroy>;
using Cudnn = Handle<cudnnHandle_t, cudnnCreate, cudnnDestroy>;

}  // namespace kusari::cuda
