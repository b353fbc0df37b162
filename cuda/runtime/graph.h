#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/handle.h"

namespace kusari::cuda {

struct GraphMemory;

/// Keeps the scratch memory of a stream's graphs for the object's life.
class GraphMemoryUse {
 public:
  GraphMemoryUse(Context& context, cudaStream_t stream);
  GraphMemoryUse(GraphMemoryUse&& other) noexcept : memory_{std::exchange(other.memory_, nullptr)} {}
  GraphMemoryUse& operator=(GraphMemoryUse&&) = delete;
  ~GraphMemoryUse();
  GraphMemory& operator*() const noexcept { return *memory_; }
  GraphMemory* operator->() const noexcept { return memory_; }

 private:
  GraphMemory* memory_;
};

/// Recorded work of one device, ready to run.
class Graph {
 public:
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  /// Runs that are under way end as they would have.
  ~Graph();

  /// On the context's current stream.
  void run(Context& context);
  /// The most scratch memory that it uses at a time.
  size_t bytes() const noexcept { return bytes_; }

 private:
  friend class StreamCapture;
  Graph(cudaGraphExec_t raw, GraphMemoryUse&& memory, size_t bytes) noexcept
      : raw_{raw}, memory_{std::move(memory)}, bytes_{bytes} {}

  cudaGraphExec_t raw_;
  GraphMemoryUse memory_;
  size_t bytes_;
};

/// Records, from begin to end, what this thread gives to a device: Context::stream() is meanwhile a stream of the
/// capture's own, which no other thread uses, and Context::allocate() gives memory that only graphs use.
class StreamCapture {
 public:
  /// This thread's capture, of whatever device; null almost always.
  static StreamCapture* current() noexcept { return t_current; }
  /// Throws StateError if this thread captures: "<what> cannot be recorded in a CUDA graph".
  static void refuse(const char* what) {
    if (t_current != nullptr) [[unlikely]]
      throw_refused(what);
  }
  /// The same for what is done when something runs for the first time, and not again.
  static void refuse_first_use(const std::string& what);

  static void begin(Context& context);
  static std::unique_ptr<Graph> end(Context& context);
  static void abandon() noexcept;

  const Context& context() const noexcept { return context_; }
  cudaStream_t stream() const noexcept { return stream_.get(); }
  void* allocate(size_t bytes);

 private:
  explicit StreamCapture(Context& context);
  ~StreamCapture();
  cudaError_t stop(cudaGraph_t* graph) noexcept;
  std::unique_ptr<Graph> finish();
  int64_t allocated() const;
  [[noreturn]] static void throw_refused(const std::string& what);

  static constinit thread_local StreamCapture* t_current __attribute__((tls_model("initial-exec")));

  Context& context_;
  GraphMemoryUse memory_;
  Stream stream_;
  std::shared_lock<std::shared_mutex> running_;
  const int64_t allocated_before_;
  int64_t most_allocated_;
};

/// Allows a thread that captures, for the object's life, what could disturb a capture but does not: calls that
/// allocate, free, load or ask whether earlier work is done.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept : is_capturing_{StreamCapture::current() != nullptr} { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { exchange(); }

 private:
  void exchange() noexcept {
    if (is_capturing_) [[unlikely]]
      cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  const bool is_capturing_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Brings the code of a kernel, or of a cudaKernel_t, to the device, as its first launch would: in a capture a launch
/// must not load anything.
void load_for_capture(const void* kernel);

/// Whether work of the stream is recorded, by StreamCapture or by the program itself.
bool is_captured(cudaStream_t stream);

}  // namespace kusari::cuda
