#pragma once

#include <cstddef>
#include <memory>

#include "kusari/cuda/check.h"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// What a kernel wants to know about the card.
struct DeviceFacts {
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_per_block = 0;         ///< bytes that any kernel may ask for
  int shared_per_block_opt_in = 0;  ///< bytes after cudaFuncSetAttribute
  int l2_bytes = 0;
  int major = 0, minor = 0;  ///< compute capability
  char name[256] = {};
};

/// Everything that belongs to one device: its streams, library handles and memory. One object per device, made at its
/// first use and never destroyed. Using it makes its device the calling thread's current one.
class Context {
 public:
  /// The context of device `index`, which becomes current.
  static Context& of(int index);
  static Context& of(const Device& device) { return of(device.index()); }
  static Context& of(const Array& array) { return of(array.device().index()); }

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int index() const noexcept { return index_; }
  const DeviceFacts& facts() const noexcept { return facts_; }

  /// The stream that the calling thread's kernels go to: the device's own unless a ScopedStream says otherwise.
  cudaStream_t stream() const noexcept;

  /// Memory of the pool, ordered by the current stream: it may be given back as soon as the kernels that use it are
  /// enqueued.
  void* allocate(size_t bytes);
  void deallocate(void* data, size_t bytes) noexcept;

  cublasLtHandle_t cublaslt();
  /// The calling thread's handle, set to the current stream.
  cudnnHandle_t cudnn();

 private:
  friend class CudaBackend;
  friend class ScopedStream;
  struct Parts;
  explicit Context(int index);

  int index_;
  DeviceFacts facts_;
  std::unique_ptr<Parts> parts_;
};

/// Sends this thread's kernels on the device to another stream for the object's life.
class ScopedStream {
 public:
  ScopedStream(Context& context, cudaStream_t stream);
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;
  ~ScopedStream();

 private:
  int index_;
  cudaStream_t previous_;
};

/// Device memory for the length of a call: kernels enqueued meanwhile may use it.
class Scratch {
 public:
  Scratch(Context& context, size_t bytes) : context_{context}, data_{context.allocate(bytes)}, bytes_{bytes} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { context_.deallocate(data_, bytes_); }

  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  Context& context_;
  void* data_;
  size_t bytes_;
};

}  // namespace kusari::cuda
