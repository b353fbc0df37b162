// The CUDA runtime's functions that cuda/ calls, for the emulated device.

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device_memory.h"
#include "graphs.h"
#include "settings.h"
#include "stream_queue.h"
#include "thread_device.h"

using namespace kusari::cuda::emulated;

struct CUstream_st {
  int device;
  unsigned flags;
  int priority;
};
struct CUevent_st {
  int device;
  unsigned flags;
  bool recorded;
  unsigned long long capture;  // in which it was recorded, or 0
  std::vector<size_t> place;   // there
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Mark> mark;  // where work is deferred
};

namespace {

thread_local int t_device = 0;
thread_local bool t_has_context = false;
thread_local cudaError_t t_last_error = cudaSuccess;

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess) t_last_error = status;
  return status;
}

bool is_device(int index) { return index >= 0 && index < settings().devices; }

cudaError_t copy(void* to, const void* from, size_t bytes) {
  if (settings().trace) std::fprintf(stderr, "device: copy %zu\n", bytes);
  if (bytes == 0 || !settings().execute) return cudaSuccess;
  if (to == nullptr || from == nullptr) return result(cudaErrorInvalidValue);
  const DeviceAccess access;
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

/// Host memory that the device reads and writes by itself, while the host goes on.
class PinnedMemory {
 public:
  void add(const void* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<const char*>(data)] = {bytes, false};
  }
  void remove(const void* data) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(static_cast<const char*>(data));
  }
  /// Locks memory that came from elsewhere.
  cudaError_t register_block(const void* data, size_t bytes) {
    constexpr uintptr_t kPage = 4096;
    const auto* const begin = static_cast<const char*>(data);
    if (data == nullptr || bytes == 0 || reinterpret_cast<uintptr_t>(data) % kPage != 0) return cudaErrorInvalidValue;
    const std::lock_guard lock(mutex_);
    const auto after = blocks_.lower_bound(begin + (bytes + kPage - 1) / kPage * kPage);
    if (after != blocks_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > begin) {
      return cudaErrorHostMemoryAlreadyRegistered;
    }
    blocks_[begin] = {bytes, true};
    return cudaSuccess;
  }
  cudaError_t unregister(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto it = blocks_.find(static_cast<const char*>(data));
    if (it == blocks_.end() || !it->second.is_registered) return cudaErrorHostMemoryNotRegistered;
    blocks_.erase(it);
    return cudaSuccess;
  }
  bool contains(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto it = blocks_.upper_bound(static_cast<const char*>(data));
    if (it == blocks_.begin()) return false;
    const auto& [begin, block] = *std::prev(it);
    return static_cast<const char*>(data) < begin + block.bytes;
  }

 private:
  struct Block {
    size_t bytes;
    bool is_registered;
  };
  std::mutex mutex_;
  std::map<const char*, Block> blocks_;
};
PinnedMemory& pinned_memory() {
  static PinnedMemory& object = *new PinnedMemory;  // outlives every static object
  return object;
}

/// A copy in the order of a stream. What the host may do after the call is as the runtime's documentation has it.
cudaError_t copy_in_stream(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (!keeps_work(stream) || bytes == 0) return copy(to, from, bytes);
  if (to == nullptr || from == nullptr) return result(cudaErrorInvalidValue);
  const bool to_device = device_of(to) >= 0, from_device = device_of(from) >= 0;
  for (const void* end : {const_cast<const void*>(to), from}) {
    if (device_of(end) >= 0 || pinned_memory().contains(end)) continue;
    if (const cudaError_t status = break_capture(stream, cudaErrorStreamCaptureUnsupported); status != cudaSuccess) {
      return result(status);
    }
  }
  if (!to_device && !from_device) {
    const cudaError_t status = finish_stream(stream);
    return status == cudaSuccess ? copy(to, from, bytes) : result(status);
  }
  if (!from_device && !pinned_memory().contains(from)) {  // read now
    const auto* const begin = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    return result(submit(stream, [=] { copy(to, staged->data(), bytes); }));
  }
  const cudaError_t status = submit(stream, [=] { copy(to, from, bytes); });
  if (to_device || pinned_memory().contains(to)) return result(status);
  return result(finish_stream(stream));
}

/// The direction that is told must be the true one.
bool fits(const void* to, const void* from, cudaMemcpyKind kind) {
  const bool to_device = device_of(to) >= 0, from_device = device_of(from) >= 0;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    default:
      return true;
  }
}

cudaError_t set(void* data, int value, size_t bytes, cudaStream_t stream) {
  if (settings().trace) std::fprintf(stderr, "device: set %zu\n", bytes);
  if (bytes == 0 || !settings().execute) return cudaSuccess;
  if (device_of(data) < 0) return result(cudaErrorInvalidValue);
  return result(submit(stream, [=] {
    const DeviceAccess access;
    std::memset(data, value, bytes);
  }));
}

/// For calls that wait for, or ask about, what a capture does not do.
cudaError_t unsafe_wait(cudaStream_t stream) {
  const cudaError_t status = break_capture(stream, cudaErrorStreamCaptureUnsupported);
  return status == cudaSuccess ? unsafe_call() : status;
}
cudaError_t unsafe_wait(cudaEvent_t event) {
  return event != nullptr && event->capture != 0 ? cudaErrorCapturedEvent : unsafe_call();
}

/// Dynamic shared memory that kernels may have, by device and kernel.
struct SharedLimits {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, size_t> bytes;
};
SharedLimits& shared_limits() {
  static SharedLimits& object = *new SharedLimits;  // outlives every static object
  return object;
}
constexpr size_t kSharedOfAnyKernel = 48 << 10;

}  // namespace

namespace kusari::cuda::emulated {

bool is_of_current_device(cudaStream_t stream) { return stream == nullptr || stream->device == t_device; }

bool can_call_library(cudaStream_t stream) { return t_has_context && is_of_current_device(stream); }

bool may_have_shared(const void* kernel, size_t bytes, int device) {
  if (bytes <= kSharedOfAnyKernel) return true;
  SharedLimits& limits = shared_limits();
  const std::lock_guard lock(limits.mutex);
  const auto found = limits.bytes.find({device, kernel});
  return found != limits.bytes.end() && bytes <= found->second;
}

bool may_have_shared(const void* kernel, size_t bytes) {
  for (int device = 0; device < settings().devices; ++device) {
    if (may_have_shared(kernel, bytes, device)) return true;
  }
  return bytes <= kSharedOfAnyKernel;
}

}  // namespace kusari::cuda::emulated

extern "C" {

// Errors.
cudaError_t cudaGetLastError() { return std::exchange(t_last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return t_last_error; }

// Devices.
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  return *version = settings().devices > 0 ? CUDART_VERSION : 0, cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return *count > 0 ? cudaSuccess : result(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return result(cudaErrorInvalidDevice);
  t_device = device;
  t_has_context = true;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (!is_device(device)) return result(cudaErrorInvalidDevice);
  std::memset(p, 0, sizeof(*p));
  std::snprintf(p->name, sizeof(p->name), "NVIDIA H200 (emulated)");
  p->totalGlobalMem = settings().memory;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->reservedSharedMemPerBlock = 1 << 10;
  p->regsPerBlock = 65536;
  p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = settings().multiprocessors;
  p->l2CacheSize = 60 << 20;
  p->persistingL2CacheMaxSize = 37 << 20;
  p->memoryBusWidth = 6144;
  p->concurrentKernels = 1;
  p->asyncEngineCount = 3;
  p->unifiedAddressing = 1;
  p->cooperativeLaunch = 1;
  p->memoryPoolsSupported = 1;
  p->textureAlignment = 512;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t status = cudaGetDeviceProperties(&p, device); status != cudaSuccess) return status;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return *value = p.maxBlocksPerMultiProcessor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return *value = static_cast<int>(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = static_cast<int>(p.sharedMemPerBlockOptin), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = static_cast<int>(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return *value = static_cast<int>(p.reservedSharedMemPerBlock), cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrWarpSize:
      return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrL2CacheSize:
      return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      return *value = p.minor, cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      return *value = p.memoryBusWidth, cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      return *value = 3201000, cudaSuccess;
    case cudaDevAttrClockRate:
      return *value = 1980000, cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrMemoryPoolsSupported:
      return *value = 1, cudaSuccess;
    default:
      std::fprintf(stderr, "emulated device: attribute %d of a device is not known\n", static_cast<int>(attribute));
      return result(cudaErrorInvalidValue);
  }
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (!is_device(device)) return result(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<size_t>(bytes), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const cudaError_t status = break_captures(t_device, cudaErrorStreamCaptureUnsupported);
  return result(status == cudaSuccess ? finish_device(t_device) : status);
}
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return result(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  static bool enabled[64][64] = {};
  if (!is_device(peer) || peer == t_device) return result(cudaErrorInvalidDevice);
  if (std::exchange(enabled[t_device][peer], true)) return result(cudaErrorPeerAccessAlreadyEnabled);
  return cudaSuccess;
}

// Memory.
cudaError_t cudaMalloc(void** data, size_t bytes) {
  *data = nullptr;
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  if (bytes == 0) return cudaSuccess;
  t_has_context = true;
  *data = allocate_device(t_device, bytes);
  return *data != nullptr ? cudaSuccess : result(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* data) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  if (const int device = device_of(data); device >= 0) finish_device(device);
  return data == nullptr || free_device(data) ? cudaSuccess : result(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t) { return cudaMalloc(data, bytes); }
cudaError_t cudaFreeAsync(void* data, cudaStream_t) { return cudaFree(data); }
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  *data = nullptr;
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(data, 4096, bytes) != 0) return result(cudaErrorMemoryAllocation);
  std::memset(*data, 0xff, bytes);
  pinned_memory().add(*data, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) { return cudaMallocHost(data, bytes); }
cudaError_t cudaFreeHost(void* data) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  pinned_memory().remove(data);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) { return *device = host, cudaSuccess; }
cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  return result(pinned_memory().register_block(data, bytes));
}
cudaError_t cudaHostUnregister(void* data) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  return result(pinned_memory().unregister(data));
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  *free = free_device_bytes(t_device);
  *total = settings().memory;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  std::memset(attributes, 0, sizeof(*attributes));
  const int device = device_of(data);
  attributes->device = device >= 0 ? device : t_device;
  attributes->type = device >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->devicePointer = device >= 0 ? const_cast<void*>(data) : nullptr;
  attributes->hostPointer = device >= 0 ? nullptr : const_cast<void*>(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return status == cudaSuccess ? result(finish_stream(nullptr)) : status;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes > 0 && !fits(to, from, kind)) return result(cudaErrorInvalidValue);
  return copy_in_stream(to, from, bytes, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  if (!is_device(to_device) || !is_device(from_device)) return result(cudaErrorInvalidDevice);
  if (bytes > 0 && (device_of(to) != to_device || device_of(from) != from_device)) {
    return result(cudaErrorInvalidValue);
  }
  return copy_in_stream(to, from, bytes, stream);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return result(cudaErrorInvalidValue);
  if (width > 0 && height > 0 && !fits(to, from, kind)) return result(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t status = copy_in_stream(static_cast<char*>(to) + row * to_pitch,
                                              static_cast<const char*>(from) + row * from_pitch, width, stream);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  if (const cudaError_t status = unsafe_call(); status != cudaSuccess) return result(status);
  return set(data, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return set(data, value, bytes, stream);
}

// Streams and events.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  *stream = new CUstream_st{t_device, flags, priority};
  open_stream(*stream, t_device);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  close_stream(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (settings().trace) std::fprintf(stderr, "device: wait\n");
  if (const cudaError_t status = unsafe_wait(stream); status != cudaSuccess) return result(status);
  return result(finish_stream(stream));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t status = unsafe_wait(stream); status != cudaSuccess) return result(status);
  return result(query_stream(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event == nullptr) return result(cudaErrorInvalidResourceHandle);
  if (event->capture != 0) return result(join_capture(stream, event->capture, event->place));
  if (capture_of(stream) == 0) return result(submit_wait(stream, event->mark));
  return result(break_capture(stream, cudaErrorStreamCaptureIsolation));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return result(submit(stream, [=] { function(data); }));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (settings().devices == 0) return result(cudaErrorNoDevice);
  *event = new CUevent_st{t_device, flags, false, 0, {}, {}, nullptr};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  // The stream of another device than the event's is an error on a card as well.
  if (event == nullptr || (stream != nullptr && stream->device != event->device)) {
    return result(cudaErrorInvalidResourceHandle);
  }
  event->recorded = true;
  event->capture = capture_of(stream);
  if (event->capture != 0) {
    event->place = capture_place(stream);
    return cudaSuccess;
  }
  if (defers_work()) {
    event->mark = submit_mark(stream);
  } else {
    event->time = std::chrono::steady_clock::now();
  }
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (settings().trace) std::fprintf(stderr, "device: wait\n");
  if (const cudaError_t status = unsafe_wait(event); status != cudaSuccess) return result(status);
  return result(event != nullptr ? finish(event->mark) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t status = unsafe_wait(event); status != cudaSuccess) return result(status);
  return result(event != nullptr ? query(event->mark) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  for (const cudaEvent_t event : {begin, end}) {
    if (event == nullptr || !event->recorded || (event->flags & cudaEventDisableTiming) != 0) {
      return result(cudaErrorInvalidResourceHandle);
    }
  }
  for (const cudaEvent_t event : {begin, end}) {
    if (event->mark == nullptr) continue;
    if (!event->mark->is_done) return result(cudaErrorNotReady);
    event->time = event->mark->time;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

// Kernels.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > 227 << 10) return result(cudaErrorInvalidValue);
  SharedLimits& limits = shared_limits();
  const std::lock_guard lock(limits.mutex);
  limits.bytes[{t_device, kernel}] = static_cast<size_t>(value);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->maxDynamicSharedSizeBytes = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads, size_t shared,
                                                                   unsigned) {
  if (threads < 1 || threads > 1024) return result(cudaErrorInvalidValue);
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  const int by_shared = static_cast<int>((228 << 10) / (shared + (1 << 10)));
  *blocks = std::min({32, by_threads, by_shared});
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

// Profilers.
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
