#include "kusari/framework/core/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <ostream>
#include <utility>
#include <vector>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/kernel_table.h"
#include "kusari/framework/core/workspace_limit.h"

namespace kusari {
namespace {

struct KernelNames {
  ForkSafeMutex mutex;
  std::vector<std::pair<std::string, std::string>> entries;  // name, mangled signature
};

constinit Lazy<KernelNames> interned_kernels;  // read by statics of every library

const detail::DeviceState* make_cpu_state() {
  static const detail::DeviceState* state = new detail::DeviceState{&detail::cpu_backend(), 0, "cpu"};
  return state;
}

// The CUDA backend is a library of its own, found by name when a CUDA device is first asked for.
struct CudaBackend {
  Backend* backend = nullptr;
  std::string problem;
  std::vector<std::unique_ptr<detail::DeviceState>> devices;
};

const CudaBackend& loaded_cuda() {
  static const CudaBackend* loaded = [] {
    environment::check();  // the backend has settings of its own
    auto* cuda = new CudaBackend;
#if defined(KUSARI_INFERENCE_LIBRARY)
    cuda->problem = "libkusari_inference computes on the CPU";
#else
    void* library = dlopen("libkusari_cuda.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      cuda->problem = reason != nullptr ? reason : "libkusari_cuda.so was not found";
      return cuda;
    }
    using Entry = Backend* (*)(int interface_version, const char** problem);
    auto entry = reinterpret_cast<Entry>(dlsym(library, "kusari_cuda_backend"));
    if (entry == nullptr) {
      cuda->problem = "libkusari_cuda.so has no entry kusari_cuda_backend";
      return cuda;
    }
    const char* problem = nullptr;
    cuda->backend = entry(kBackendInterface, &problem);
    if (problem != nullptr) cuda->problem = problem;
    if (cuda->backend == nullptr) return cuda;
    for (int i = 0; i < cuda->backend->device_count(); ++i) {
      cuda->devices.push_back(
          std::make_unique<detail::DeviceState>(detail::DeviceState{cuda->backend, i, "cuda:" + std::to_string(i)}));
    }
    if (cuda->devices.empty() && cuda->problem.empty()) cuda->problem = "no CUDA device was found";
#endif
    return cuda;
  }();
  return *loaded;
}

bool parse_index(const char* text, int* index) {
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *index);
  return error == std::errc{} && stop == end && *index >= 0;
}

std::atomic<size_t>& max_workspace_size() {
  static std::atomic<size_t> bytes = environment::number("KUSARI_MAX_WORKSPACE_SIZE").value_or(size_t{256} << 20);
  return bytes;
}

// What was set for CUDA devices, or kDeviceShare.
constexpr size_t kDeviceShare = ~size_t{0};
std::atomic<size_t>& max_cuda_workspace_size() {
  static std::atomic<size_t> bytes = environment::number("KUSARI_MAX_WORKSPACE_SIZE").value_or(kDeviceShare);
  return bytes;
}

}  // namespace

KernelId intern_kernel(const char* name, const std::type_info& signature) {
  KernelNames& names = *interned_kernels;
  const std::scoped_lock lock(names.mutex);
  for (size_t i = 0; i < names.entries.size(); ++i) {
    if (names.entries[i].first != name) continue;
    if (names.entries[i].second != signature.name()) {
      throw Error(std::string("intern_kernel: kernel '") + name + "' is declared twice with different signatures");
    }
    return {static_cast<int>(i)};
  }
  names.entries.emplace_back(name, signature.name());
  return {static_cast<int>(names.entries.size()) - 1};
}

std::vector<std::string> kernel_names(const Backend& backend) {
  KernelNames& names = *interned_kernels;
  std::vector<std::string> found;
  const std::scoped_lock lock(names.mutex);
  for (size_t i = 0; i < names.entries.size(); ++i) {
    if (backend.find({static_cast<int>(i)}) != nullptr) found.push_back(names.entries[i].first);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has_kernel(const Backend& backend, const std::string& name) {
  const std::vector<std::string> names = kernel_names(backend);
  return std::binary_search(names.begin(), names.end(), name);
}

Backend::Backend() = default;
Backend::~Backend() = default;

void Backend::copy_from_peer(int index, void* to, int, const void* from, size_t bytes) {
  copy_within(index, to, from, bytes);
}

void* Backend::allocate_pinned(size_t bytes) { return memory::allocate(bytes); }
void Backend::deallocate_pinned(void* block, size_t bytes) noexcept { memory::deallocate(block, bytes); }
bool Backend::pin(void*, size_t) { return false; }
void Backend::unpin(void*) noexcept {}
bool Backend::is_pinned(const void*, size_t) { return false; }
bool Backend::is_copied_from(const void*) { return false; }
void Backend::copy_from_host_beside(int index, void* data, const void* host, size_t bytes) {
  copy_from_host(index, data, host, bytes);
}
void* Backend::allocate_beside(int index, size_t bytes) { return allocate(index, bytes); }
void Backend::begin_copy_beside(int index, void* data, const void* host, size_t bytes) {
  copy_from_host(index, data, host, bytes);
}
void* Backend::record_copies(int) { return nullptr; }
void Backend::wait_for_copies(int, void*) {}
void Backend::forget_copies(int, void*) noexcept {}

bool Backend::has_graphs() const noexcept { return false; }
void Backend::begin_graph(int) { throw StateError(std::string("Backend '") + name() + "' has no graphs"); }
void* Backend::end_graph(int) { return nullptr; }
void Backend::abandon_graph(int) noexcept {}
void Backend::run_graph(int, void*) {}
size_t Backend::graph_bytes(int, void*) const { return 0; }
void Backend::destroy_graph(int, void*) noexcept {}

memory::Statistics Backend::memory_statistics(int) { return memory::statistics(); }
void Backend::reset_max_allocated(int) { memory::reset_max_allocated(); }
void Backend::release_cached(int) { memory::release_cached(); }
std::string Backend::memory_summary(int) { return memory::summary(); }

void* Backend::create_event(int) { return nullptr; }
void Backend::record_event(int, void*) {}
void Backend::synchronize_event(int, void*) {}
double Backend::seconds_between(int, void*, void*) { return 0; }
void Backend::destroy_event(int, void*) noexcept {}

void Backend::push_range(const char*) noexcept {}
void Backend::pop_range() noexcept {}

void Backend::set(KernelId id, AnyKernel implementation) {
  const auto at = static_cast<size_t>(id.index);
  if (table_.size() <= at) table_.resize(at + 1, nullptr);
  table_[at] = implementation;
}

// Set when this library is loaded, before there are threads; or earlier, by an array of static duration elsewhere.
constinit const detail::DeviceState* Device::cpu_state_ = nullptr;
[[maybe_unused]] const Device loaded_cpu;

Device::Device() {
  if (cpu_state_ == nullptr) [[unlikely]] {
    cpu_state_ = make_cpu_state();
  }
  state_ = cpu_state_;
}

Device get_device(const std::string& name) {
  if (name == "cpu" || name == "@numpy" || name == "native" || name == "-1") return Device();
  int index = 0;
  const char* number = nullptr;
  for (const char* prefix : {"cuda:", "@cupy:"}) {
    if (name.starts_with(prefix)) number = name.c_str() + std::strlen(prefix);
  }
  if (name != "cuda" && !parse_index(number != nullptr ? number : name.c_str(), &index)) {
    throw ValueError("get_device: '" + name + "' is not a device; expected 'cpu' or 'cuda:N'");
  }
  const CudaBackend& cuda = loaded_cuda();
  if (static_cast<size_t>(index) >= cuda.devices.size()) {
    throw DeviceError("get_device: '" + name + "' is not there; CUDA devices: " + std::to_string(cuda.devices.size()) +
                      (cuda.problem.empty() ? "" : " (" + cuda.problem + ")"));
  }
  return Device(cuda.devices[static_cast<size_t>(index)].get());
}

void synchronize(const Device& device) { device.backend().synchronize(device.index()); }

namespace {
Device cuda_device(int index) { return get_device("cuda:" + std::to_string(index)); }

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

Event::Event(const Device& device) : device_{device}, event_{device.backend().create_event(device.index())} {}
Event::Event(Event&& other) noexcept
    : device_{other.device_}, event_{std::exchange(other.event_, nullptr)}, host_seconds_{other.host_seconds_} {}
Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  std::swap(host_seconds_, other.host_seconds_);
  return *this;
}
Event::~Event() {
  if (event_ != nullptr) device_.backend().destroy_event(device_.index(), event_);
}

void Event::record() {
  if (event_ == nullptr) {
    host_seconds_ = host_seconds();
  } else {
    device_.backend().record_event(device_.index(), event_);
  }
}

void Event::synchronize() const {
  if (event_ != nullptr) device_.backend().synchronize_event(device_.index(), event_);
}

double Event::seconds_since(const Event& begin) const {
  if (device_ != begin.device_) throw ValueError("Event::seconds_since: the events are of different devices");
  if (event_ == nullptr) return host_seconds_ - begin.host_seconds_;
  return device_.backend().seconds_between(device_.index(), begin.event_, event_);
}

Backend* detail::cuda_backend() { return loaded_cuda().backend; }

bool cuda::is_available() { return cuda::device_count() > 0; }

int cuda::device_count() { return static_cast<int>(loaded_cuda().devices.size()); }

void set_max_workspace_size(size_t bytes) { max_workspace_size() = bytes; }

size_t get_max_workspace_size() { return max_workspace_size(); }

void cuda::set_max_workspace_size(size_t bytes) { max_cuda_workspace_size() = std::min(bytes, kDeviceShare - 1); }

size_t cuda::get_max_workspace_size() {
  if (const std::optional<size_t> given = detail::given_cuda_workspace_size()) return *given;
  const CudaBackend& cuda = loaded_cuda();
  const auto find = cuda.devices.empty() ? nullptr : cuda.backend->find(kernel_id<kernels::DeviceMemory>());
  const size_t memory = find == nullptr ? ~size_t{0} : reinterpret_cast<kernels::DeviceMemory::Signature*>(find)(0);
  return detail::default_max_workspace_size(memory);
}

std::optional<size_t> detail::given_cuda_workspace_size() {
  const size_t given = max_cuda_workspace_size();
  return given == kDeviceShare ? std::nullopt : std::optional(given);
}

std::string cuda::memory_summary(int index) { return cuda_device(index).backend().memory_summary(index); }

size_t cuda::max_memory_allocated(int index) {
  return static_cast<size_t>(cuda_device(index).backend().memory_statistics(index).max_allocated);
}

void cuda::reset_max_memory_allocated(int index) { cuda_device(index).backend().reset_max_allocated(index); }

void cuda::release_cached_memory(int index) { cuda_device(index).backend().release_cached(index); }

std::ostream& operator<<(std::ostream& stream, const Device& device) { return stream << device.name(); }

}  // namespace kusari
