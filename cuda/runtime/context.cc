#include "kusari/cuda/runtime/context.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/handle.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/thread_owned.h"
#include "kusari/framework/core/workspace_limit.h"

namespace kusari::cuda {
namespace {

std::atomic<Context*> contexts[kMaxDevices];

// Whether the thread has a current context of the driver.
constinit thread_local bool t_has_driver_context __attribute__((tls_model("initial-exec"))) = false;

// The innermost ScopedStream of the thread.
constinit thread_local const ScopedStream* t_scoped_stream __attribute__((tls_model("initial-exec"))) = nullptr;

bool has_several_devices() {
  static const bool several = [] {
    int count = 0;
    KUSARI_CUDA_CHECK(cudaGetDeviceCount(&count));
    return count > 1;
  }();
  return several;
}

// Programs may call cudaSetDevice themselves, so a device remembered here could be wrong and the launch would fail; the
// runtime's own answer costs some 20 ns, and nothing at all on machines with one device.
// A thread's first call sets the device whatever the runtime says: kernels of cuBLAS and those that cuDNN compiles are
// launched through the driver, which fails in a thread where the runtime has not made a context current yet.
void make_current(int index) {
  if (t_has_driver_context) [[likely]] {
    if (!has_several_devices()) return;
    int current = -1;
    KUSARI_CUDA_CHECK(cudaGetDevice(&current));
    if (current == index) return;
  }
  KUSARI_CUDA_CHECK(cudaSetDevice(index));
  t_has_driver_context = true;
}

bool is_pooled() {
#if defined(__SANITIZE_ADDRESS__)
  return false;
#else
  return environment::flag("KUSARI_MEMORY_POOL").value_or(true);
#endif
}

DeviceFacts facts_of(int index) {
  cudaDeviceProp properties;
  KUSARI_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  DeviceFacts facts;
  facts.multiprocessors = properties.multiProcessorCount;
  facts.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
  facts.shared_per_block = static_cast<int>(properties.sharedMemPerBlock);
  facts.shared_per_block_opt_in = static_cast<int>(properties.sharedMemPerBlockOptin);
  facts.l2_bytes = properties.l2CacheSize;
  facts.total_memory = properties.totalGlobalMem;
  facts.major = properties.major;
  facts.minor = properties.minor;
  static_assert(sizeof(facts.name) == sizeof(properties.name));
  std::memcpy(facts.name, properties.name, sizeof(facts.name));
  return facts;
}

// The driver's memory and events of one device. What fails in a noexcept member fails because the process ends or the
// device is lost: then nothing is left to wait for, and memory is gone anyway.
class DriverMemory final : public SegmentSource {
 public:
  explicit DriverMemory(int index) : index_{index} {}

  void* allocate_segment(size_t bytes) override {
    const RelaxedCapture relaxed;
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    KUSARI_CUDA_CHECK(status);
    return data;
  }

  void free_segment(void* data, size_t) noexcept override {
    const RelaxedCapture relaxed;
    if (cudaFree(data) != cudaSuccess) cudaGetLastError();
  }

  MemoryInfo memory_info() noexcept override {
    MemoryInfo info;
    if (cudaMemGetInfo(&info.free, &info.total) != cudaSuccess) cudaGetLastError();
    return info;
  }

  void* record(void* stream) noexcept override {
    const RelaxedCapture relaxed;
    cudaEvent_t event = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (!spare_.empty()) {
        event = spare_.back();
        spare_.pop_back();
      }
    }
    if (event != nullptr || create(&event)) {
      if (cudaEventRecord(event, static_cast<cudaStream_t>(stream)) == cudaSuccess) return event;
      cudaGetLastError();
      recycle(event);
    }
    // Nobody could wait later.
    if (cudaStreamSynchronize(static_cast<cudaStream_t>(stream)) != cudaSuccess) cudaGetLastError();
    return nullptr;
  }

  bool is_done(void* event) noexcept override {
    const RelaxedCapture relaxed;
    const cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(event));
    if (status != cudaSuccess) cudaGetLastError();
    return status != cudaErrorNotReady;
  }

  void wait(void* event) noexcept override {
    const RelaxedCapture relaxed;
    if (cudaEventSynchronize(static_cast<cudaEvent_t>(event)) != cudaSuccess) cudaGetLastError();
  }

  void recycle(void* event) noexcept override {
    const std::scoped_lock lock(mutex_);
    spare_.push_back(static_cast<cudaEvent_t>(event));
  }

 private:
  // Events belong to the current device, and memory is given back by threads that use another.
  bool create(cudaEvent_t* event) noexcept {
    int current = index_;
    bool made = cudaGetDevice(&current) == cudaSuccess;
    if (current != index_) made = made && cudaSetDevice(index_) == cudaSuccess;
    made = made && create_untimed_event(event) == cudaSuccess;
    if (current != index_) cudaSetDevice(current);
    if (!made) cudaGetLastError();
    return made;
  }

  const int index_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> spare_;
};

}  // namespace

struct Context::Parts {
  Parts(int index, const char* name)
      : memory{index}, allocator{memory, "cuda:" + std::to_string(index) + " (" + name + ")", is_pooled()} {}

  Stream stream;
  Stream copy_stream;
  DriverMemory memory;
  CachingAllocator allocator;
  std::mutex mutex;
  std::atomic<cublasLtHandle_t> cublaslt{nullptr};
  std::optional<CublasLt> cublaslt_owner;
  std::vector<Cudnn> spare_cudnn;  // of threads that have ended
  std::shared_mutex captures;
};

Context& Context::of(int index) {
  Context* const context = contexts[index].load(std::memory_order_acquire);
  if (context == nullptr) [[unlikely]]
    return make(index);
  make_current(index);
  return *context;
}

Context& Context::existing(int index) noexcept { return *contexts[index].load(std::memory_order_acquire); }

Context& Context::make(int index) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  make_current(index);
  Context* context = contexts[index].load(std::memory_order_acquire);
  if (context == nullptr) {
    context = new Context(index);  // never destroyed: arrays of static duration outlive everything
    contexts[index].store(context, std::memory_order_release);
  }
  return *context;
}

void Context::enter_any() {
  if (t_has_driver_context) return;
  for (int index = 0; index < kMaxDevices; ++index) {
    if (contexts[index].load(std::memory_order_acquire) != nullptr) return make_current(index);
  }
}

Context::Context(int index)
    : index_{index}, facts_{facts_of(index)}, parts_{std::make_unique<Parts>(index, facts_.name)} {}
Context::~Context() = default;

size_t Context::workspace_limit() const {
  return kusari::detail::given_cuda_workspace_size().value_or(
      kusari::detail::default_max_workspace_size(facts_.total_memory));
}

bool Context::is_capturing() const noexcept {
  const StreamCapture* const capture = StreamCapture::current();
  return capture != nullptr && &capture->context() == this;
}

std::shared_mutex& Context::captures() noexcept { return parts_->captures; }

cudaStream_t Context::stream() const noexcept {
  if (is_capturing()) [[unlikely]]
    return StreamCapture::current()->stream();
  for (const ScopedStream* scoped = t_scoped_stream; scoped != nullptr; scoped = scoped->previous_) {
    if (scoped->context_ == this) return scoped->stream_;
  }
  return parts_->stream.get();
}

cudaStream_t Context::copy_stream() const noexcept { return parts_->copy_stream.get(); }

void Context::order(cudaStream_t stream, cudaStream_t waiting) {
  void* const event = events().record(stream);
  if (event == nullptr) return;
  const cudaError_t status = cudaStreamWaitEvent(waiting, static_cast<cudaEvent_t>(event), 0);
  events().recycle(event);  // recording it again does not change what was waited for
  KUSARI_CUDA_CHECK(status);
}

void* Context::allocate(size_t bytes) {
  if (is_capturing()) [[unlikely]]
    return StreamCapture::current()->allocate(bytes);
  return parts_->allocator.allocate(bytes, stream());
}

void Context::deallocate(void* data) noexcept { parts_->allocator.deallocate(data); }

void Context::record_use(const Array& array, cudaStream_t stream) {
  parts_->allocator.record_use(array.storage().data, stream);
}

CachingAllocator& Context::allocator() noexcept { return parts_->allocator; }

EventSource& Context::events() noexcept { return parts_->memory; }

cublasLtHandle_t Context::cublaslt() {
  cublasLtHandle_t handle = parts_->cublaslt.load(std::memory_order_acquire);
  if (handle == nullptr) [[unlikely]] {
    StreamCapture::refuse_first_use("the making of a handle of cuBLASLt");
    const std::scoped_lock lock(parts_->mutex);
    if (!parts_->cublaslt_owner) parts_->cublaslt_owner.emplace();
    handle = parts_->cublaslt_owner->get();
    parts_->cublaslt.store(handle, std::memory_order_release);
  }
  return handle;
}

namespace {

// A thread's handle for one device. It outlives the thread: destroying it may synchronise, and at the process's end the
// driver is gone.
struct ThreadCudnn {
  const Context* context;
  Cudnn handle;
  cudaStream_t stream;
  std::vector<Cudnn>* spare;
  std::mutex* mutex;
};

struct ThreadCudnns {
  std::vector<ThreadCudnn> entries;
  ~ThreadCudnns() {
    for (ThreadCudnn& entry : entries) {
      const std::scoped_lock lock(*entry.mutex);
      entry.spare->push_back(std::move(entry.handle));
    }
  }
};

}  // namespace

cudnnHandle_t Context::cudnn() {
  static constinit thread_local ThreadCudnns* own = nullptr;
  ThreadCudnns& cudnns = kusari::detail::thread_owned(own);
  ThreadCudnn* mine = nullptr;
  for (ThreadCudnn& entry : cudnns.entries) {
    if (entry.context == this) mine = &entry;
  }
  if (mine == nullptr) {
    std::optional<Cudnn> handle;
    {
      const std::scoped_lock lock(parts_->mutex);
      if (!parts_->spare_cudnn.empty()) {
        handle = std::move(parts_->spare_cudnn.back());
        parts_->spare_cudnn.pop_back();
      }
    }
    if (!handle) {
      StreamCapture::refuse_first_use("the making of a handle of cuDNN");
      try {
        handle.emplace();
      } catch (const DeviceError&) {  // it may be memory that is missing, which the pool has
        parts_->allocator.release_cached();
        handle.emplace();
      }
    }
    KUSARI_CUDA_CHECK(cudnnSetStream(handle->get(), stream()));
    mine = &cudnns.entries.emplace_back(
        ThreadCudnn{this, std::move(*handle), stream(), &parts_->spare_cudnn, &parts_->mutex});
  }
  if (mine->stream != stream()) {
    KUSARI_CUDA_CHECK(cudnnSetStream(mine->handle.get(), stream()));
    mine->stream = stream();
  }
  return mine->handle.get();
}

ScopedStream::ScopedStream(const Context& context, cudaStream_t stream) noexcept
    : context_{&context}, stream_{stream}, previous_{std::exchange(t_scoped_stream, this)} {}

ScopedStream::~ScopedStream() { t_scoped_stream = previous_; }

}  // namespace kusari::cuda
