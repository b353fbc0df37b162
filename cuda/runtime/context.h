#pragma once

#include <cstddef>
#include <memory>
#include <shared_mutex>

#include "kusari/cuda/runtime/allocator.h"
#include "kusari/cuda/runtime/check.h"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Further devices are left alone.
inline constexpr int kMaxDevices = 64;

/// What a kernel wants to know about the card.
struct DeviceFacts {
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_per_block = 0;         ///< bytes that any kernel may ask for
  int shared_per_block_opt_in = 0;  ///< bytes after cudaFuncSetAttribute
  int l2_bytes = 0;
  size_t total_memory = 0;   ///< bytes
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

  /// The same without touching the device, for memory that is given back, perhaps after the driver has gone. The
  /// context exists.
  static Context& existing(int index) noexcept;

  /// For calls that want any device: in a thread that has used none, the runtime would take device 0 and make a context
  /// there, some 500 MiB, though the process may use another device.
  static void enter_any();

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int index() const noexcept { return index_; }
  const DeviceFacts& facts() const noexcept { return facts_; }
  /// Most bytes that an algorithm of a library may use as scratch: what was set, or else a share of the memory.
  size_t workspace_limit() const;

  /// The stream that the calling thread's kernels go to: the device's own unless a ScopedStream or a StreamCapture
  /// (graph.h) says otherwise.
  cudaStream_t stream() const noexcept;
  /// The stream for copies beside the kernels.
  cudaStream_t copy_stream() const noexcept;
  /// Later work of `waiting` begins after the work given to `stream` so far.
  void order(cudaStream_t stream, cudaStream_t waiting);
  /// Whether the calling thread's kernels are recorded by a StreamCapture.
  bool is_capturing() const noexcept;
  /// Shared by captures, which cudaDeviceSynchronize, from whatever thread, would end.
  std::shared_mutex& captures() noexcept;

  /// Memory of the pool, ordered by the current stream: it may be given back as soon as the kernels that use it are
  /// enqueued.
  void* allocate(size_t bytes);
  void deallocate(void* data) noexcept;
  /// The array's memory is used by work that was given to `stream`, other than the one it was allocated for: it is not
  /// used again before that work is done.
  void record_use(const Array& array, cudaStream_t stream);
  CachingAllocator& allocator() noexcept;
  /// Events of this device's streams.
  EventSource& events() noexcept;

  cublasLtHandle_t cublaslt();
  /// The calling thread's handle, set to the current stream.
  cudnnHandle_t cudnn();

 private:
  struct Parts;
  explicit Context(int index);
  ~Context();
  static Context& make(int index);

  int index_;
  DeviceFacts facts_;
  std::unique_ptr<Parts> parts_;
};

/// Sends this thread's kernels on the device to another stream for the object's life.
class ScopedStream {
 public:
  ScopedStream(const Context& context, cudaStream_t stream) noexcept;
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;
  ~ScopedStream();

 private:
  friend class Context;
  const Context* context_;
  cudaStream_t stream_;
  const ScopedStream* previous_;  // the thread's, of any device
};

/// Device memory for the length of a call: kernels enqueued meanwhile may use it.
class Scratch {
 public:
  Scratch(Context& context, size_t bytes) : context_{context}, data_{context.allocate(bytes)} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { context_.deallocate(data_); }

  template <class T>
  T* data() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  Context& context_;
  void* data_;
};

}  // namespace kusari::cuda
