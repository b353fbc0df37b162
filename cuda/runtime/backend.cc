#include "kusari/cuda/runtime/backend.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "kusari/cuda/runtime/check.h"
#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/handle.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

class DriverHostMemory final : public HostSource {
 public:
  void* allocate_host(size_t bytes) override {
    void* data = nullptr;
    const cudaError_t status = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    KUSARI_CUDA_CHECK(status);
    return data;
  }
  void free_host(void* data) noexcept override {
    const RelaxedCapture relaxed;
    if (cudaFreeHost(data) != cudaSuccess) cudaGetLastError();
  }
};

class PinnedBlock {
 public:
  explicit PinnedBlock(size_t bytes) : data_{pinned_pool().allocate(bytes)} {}
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock() { pinned_pool().deallocate(data_); }
  void* data() const noexcept { return data_; }

 private:
  void* data_;
};

// Lets a device reach another's memory without the host, where the machine can.
void allow_peer(int index, int peer) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> done;
  const std::scoped_lock lock(mutex);
  if (!done.emplace(index, peer).second) return;
  int can = 0;
  KUSARI_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, index, peer));
  if (can == 0) return;
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    KUSARI_CUDA_CHECK(status);
  }
}

// Of a driver that is there but cannot serve this library; empty if there is none.
std::string why_driver_is_insufficient() {
  int driver = 0, needed = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return {};
  KUSARI_CUDA_CHECK(cudaRuntimeGetVersion(&needed));
  const auto text = [](int v) { return std::to_string(v / 1000) + '.' + std::to_string(v % 1000 / 10); };
  return "the driver is for CUDA " + text(driver) + ", libkusari_cuda.so needs " + text(needed);
}

}  // namespace

PinnedPool& pinned_pool() {
  static PinnedPool* const pool =
      new PinnedPool(*new DriverHostMemory);  // arrays of static duration outlive everything
  return *pool;
}

CudaBackend::CudaBackend(int device_count) : device_count_{device_count} { register_kernels(*this); }

void* CudaBackend::allocate(int index, size_t bytes) { return Context::of(index).allocate(bytes); }

void CudaBackend::deallocate(int index, void* data, size_t) noexcept {
  if (data != nullptr) Context::existing(index).deallocate(data);
}

void CudaBackend::copy_to_host(int index, void* host, const void* data, size_t bytes) {
  if (bytes == 0) return;
  StreamCapture::refuse("a copy to the host");
  const cudaStream_t stream = Context::of(index).stream();
  KUSARI_CUDA_CHECK(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream));
  KUSARI_CUDA_CHECK(cudaStreamSynchronize(stream));
}

// Through page-locked memory in pieces: the driver would wait for the stream before it reads pageable memory, and read
// page-locked memory after this function has returned.
void CudaBackend::copy_from_host(int index, void* data, const void* host, size_t bytes) {
  if (bytes == 0) return;
  StreamCapture::refuse("a copy from the host");
  constexpr size_t kPiece = size_t{4} << 20;
  Context& context = Context::of(index);
  const cudaStream_t stream = context.stream();
  for (size_t done = 0; done < bytes; done += kPiece) {
    const size_t n = std::min(kPiece, bytes - done);
    const PinnedBlock piece(n);
    std::memcpy(piece.data(), static_cast<const char*>(host) + done, n);
    KUSARI_CUDA_CHECK(
        cudaMemcpyAsync(static_cast<char*>(data) + done, piece.data(), n, cudaMemcpyHostToDevice, stream));
    pinned_pool().record_use(piece.data(), context.events(), stream);
  }
}

void CudaBackend::copy_within(int index, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  KUSARI_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, Context::of(index).stream()));
}

void CudaBackend::copy_from_peer(int index, void* to, int from_index, const void* from, size_t bytes) {
  if (from_index == index) return copy_within(index, to, from, bytes);
  if (bytes == 0) return;
  StreamCapture::refuse("a copy from another device");
  Context& source = Context::of(from_index);
  Context& target = Context::of(index);
  allow_peer(index, from_index);
  source.order(source.stream(), target.stream());
  KUSARI_CUDA_CHECK(cudaMemcpyPeerAsync(to, index, from, from_index, bytes, target.stream()));
  target.order(target.stream(), source.stream());  // nobody writes to the source before
}

void CudaBackend::synchronize(int index) {
  StreamCapture::refuse("a wait for the device");
  const std::scoped_lock no_captures(Context::of(index).captures());
  KUSARI_CUDA_CHECK(cudaDeviceSynchronize());
}

void* CudaBackend::allocate_pinned(size_t bytes) {
  StreamCapture::refuse("the allocation of page-locked memory");
  Context::enter_any();
  return pinned_pool().allocate(bytes);
}

void CudaBackend::deallocate_pinned(void* block, size_t) noexcept { pinned_pool().deallocate(block); }

bool CudaBackend::pin(void* block, size_t bytes) {
  StreamCapture::refuse("the locking of memory");
  Context::enter_any();
  // Fails for memory that is locked already, is none, or is more than the system lets a process lock.
  if (bytes == 0 || cudaHostRegister(block, bytes, cudaHostRegisterPortable) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  if (pinned_pool().adopt(block, bytes)) return true;
  cudaHostUnregister(block);
  return false;
}

void CudaBackend::unpin(void* block) noexcept {
  const RelaxedCapture relaxed;
  if (pinned_pool().release_adopted(block) && cudaHostUnregister(block) != cudaSuccess) cudaGetLastError();
}

bool CudaBackend::is_pinned(const void* inside, size_t bytes) { return pinned_pool().contains(inside, bytes); }

bool CudaBackend::is_copied_from(const void* inside) { return pinned_pool().is_used(inside); }

void CudaBackend::begin_copy_beside(int index, void* data, const void* host, size_t bytes) {
  if (bytes == 0) return;
  StreamCapture::refuse("a copy from the host");
  Context& context = Context::of(index);
  const cudaStream_t side = context.copy_stream();
  if (context.allocator().stream_of(data) == side) {
    context.allocator().record_use(data, context.stream());
  } else {
    context.order(context.stream(), side);  // whoever had this memory before may still use it
  }
  KUSARI_CUDA_CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, side));
  if (!pinned_pool().record_use(host, context.events(), side)) KUSARI_CUDA_CHECK(cudaStreamSynchronize(side));
}

void CudaBackend::copy_from_host_beside(int index, void* data, const void* host, size_t bytes) {
  if (bytes == 0) return;
  begin_copy_beside(index, data, host, bytes);
  Context& context = Context::of(index);
  context.order(context.copy_stream(), context.stream());
}

void* CudaBackend::record_copies(int index) {
  StreamCapture::refuse("an event");
  Context& context = Context::of(index);
  return context.events().record(context.copy_stream());
}

void CudaBackend::wait_for_copies(int index, void* mark) {
  StreamCapture::refuse("a wait for copies");
  KUSARI_CUDA_CHECK(cudaStreamWaitEvent(Context::of(index).stream(), static_cast<cudaEvent_t>(mark), 0));
}

void CudaBackend::forget_copies(int index, void* mark) noexcept { Context::existing(index).events().recycle(mark); }

void* CudaBackend::allocate_beside(int index, size_t bytes) {
  StreamCapture::refuse("the allocation of memory for a copy");
  Context& context = Context::of(index);
  return context.allocator().allocate(bytes, context.copy_stream());
}

bool CudaBackend::has_graphs() const noexcept {
  static const bool has =
      environment::flag("KUSARI_CUDA_GRAPHS").value_or(true);  // checked before this library is loaded
  return has;
}
void CudaBackend::begin_graph(int index) { StreamCapture::begin(Context::of(index)); }
void* CudaBackend::end_graph(int index) { return StreamCapture::end(Context::of(index)).release(); }
void CudaBackend::abandon_graph(int) noexcept { StreamCapture::abandon(); }
void CudaBackend::run_graph(int index, void* graph) { static_cast<Graph*>(graph)->run(Context::of(index)); }
size_t CudaBackend::graph_bytes(int, void* graph) const { return static_cast<const Graph*>(graph)->bytes(); }
void CudaBackend::destroy_graph(int, void* graph) noexcept { delete static_cast<Graph*>(graph); }

memory::Statistics CudaBackend::memory_statistics(int index) { return Context::of(index).allocator().statistics(); }
void CudaBackend::reset_max_allocated(int index) { Context::of(index).allocator().reset_max_allocated(); }
void CudaBackend::release_cached(int index) {
  Context::of(index).allocator().release_cached();
  pinned_pool().release_cached();
}
std::string CudaBackend::memory_summary(int index) { return Context::of(index).allocator().summary(); }

void* CudaBackend::create_event(int index) {
  (void)Context::of(index);  // makes it current: events belong to that
  cudaEvent_t event = nullptr;
  KUSARI_CUDA_CHECK(create_timed_event(&event));
  return event;
}

void CudaBackend::record_event(int index, void* event) {
  StreamCapture::refuse("an event");
  KUSARI_CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(event), Context::of(index).stream()));
}

void CudaBackend::synchronize_event(int index, void* event) {
  StreamCapture::refuse("a wait for an event");
  (void)Context::of(index);  // in a thread of its own as well
  KUSARI_CUDA_CHECK(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
}

double CudaBackend::seconds_between(int index, void* begin, void* end) {
  synchronize_event(index, begin);
  synchronize_event(index, end);
  float milliseconds = 0;
  KUSARI_CUDA_CHECK(
      cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin), static_cast<cudaEvent_t>(end)));
  return static_cast<double>(milliseconds) / 1000;
}

void CudaBackend::destroy_event(int, void* event) noexcept { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

namespace {
// Ranges of the library are told from those of the program.
nvtxDomainHandle_t nvtx_domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("kusari");
  return domain;
}
}  // namespace

void CudaBackend::push_range(const char* text) noexcept {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  nvtxDomainRangePushEx(nvtx_domain(), &event);
}
void CudaBackend::pop_range() noexcept { nvtxDomainRangePop(nvtx_domain()); }

}  // namespace kusari::cuda

/// What core looks up after it has loaded this library. Null with a text in `problem` when the library cannot serve; a
/// machine without a driver or a card has a backend with no devices, and perhaps a text that says why.
extern "C" __attribute__((visibility("default"))) kusari::Backend* kusari_cuda_backend(int version,
                                                                                       const char** problem) {
  static std::string text;
  try {
    if (version != kusari::kBackendInterface) {
      text = "libkusari_cuda.so is of another version of Kusari: its interface is " +
             std::to_string(kusari::kBackendInterface) + ", this program's " + std::to_string(version);
      *problem = text.c_str();
      return nullptr;
    }
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    switch (status) {
      case cudaSuccess:
        break;
      case cudaErrorInsufficientDriver:  // no driver, or one too old
        text = kusari::cuda::why_driver_is_insufficient();
        *problem = text.empty() ? nullptr : text.c_str();
        [[fallthrough]];
      case cudaErrorStubLibrary:
      case cudaErrorNoDevice:
        cudaGetLastError();
        count = 0;
        break;
      default:
        KUSARI_CUDA_CHECK(status);
    }
    count = std::min(count, kusari::cuda::kMaxDevices);
    static kusari::Backend* const backend = new kusari::cuda::CudaBackend(count);
    return backend;
  } catch (const std::exception& error) {
    text = std::string("libkusari_cuda.so: ") + error.what();
    *problem = text.c_str();
    return nullptr;
  }
}
