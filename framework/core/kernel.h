#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/random_state.h"

// The door to the hardware. A kernel is declared once:
//
//   struct Softmax {
//     static constexpr const char* kName = "softmax";
//     using Signature = void(In x, Params<SoftmaxGeometry>, Out y);
//   };
//
// and called as launch<kernels::Softmax>(device, x, geometry, y). The markers tell a recorder what each argument is.

namespace kusari {

/// What a kernel does to the elements of an array.
enum class Access : uint8_t { read, write, update };

/// An array, and what the kernel does to it. May be undefined where the kernel says that the argument is optional.
template <Access kAccess>
class Marked {
 public:
  Marked(const Array& array) noexcept : array_{&array} {}
  const Array& operator*() const noexcept { return *array_; }
  const Array* operator->() const noexcept { return array_; }
  operator const Array&() const noexcept { return *array_; }
  explicit operator bool() const noexcept { return array_->is_defined(); }

 private:
  const Array* array_;
};
using In = Marked<Access::read>;
/// Every element is written, and its old value ignored.
using Out = Marked<Access::write>;
/// Read and changed: running statistics, accumulation, updates in place.
using InOut = Marked<Access::update>;

/// Several arrays at once, for the kernels that visit all parameters of a model.
template <Access kAccess>
class MarkedList {
 public:
  MarkedList(std::span<const Array> arrays) noexcept : arrays_{arrays} {}
  std::span<const Array> arrays() const noexcept { return arrays_; }

 private:
  std::span<const Array> arrays_;
};
using InList = MarkedList<Access::read>;
using OutList = MarkedList<Access::write>;
using InOutList = MarkedList<Access::update>;

/// A value that a recording keeps as it is.
template <class T>
class Params {
  static_assert(std::is_trivially_copyable_v<T>, "a recording copies parameters byte by byte");

 public:
  Params(const T& value) noexcept : value_{&value} {}
  const T& operator*() const noexcept { return *value_; }
  const T* operator->() const noexcept { return value_; }
  operator const T&() const noexcept { return *value_; }

 private:
  const T* value_;
};

/// A one-element float64 array read when the kernel runs, so that a replay sees today's learning rate, loss scale or
/// step.
class DeviceScalar {
 public:
  DeviceScalar(const Array& array) noexcept : array_{&array} {}
  const Array& operator*() const noexcept { return *array_; }
  const Array* operator->() const noexcept { return array_; }

 private:
  const Array* array_;
};

/// Scratch bytes on the kernel's device that nobody reads afterwards.
struct Workspace {
  void* data = nullptr;
  size_t bytes = 0;
};

/// One argument of a launch as an observer sees it.
struct LaunchArgument {
  enum class Kind : uint8_t {
    in,
    out,
    in_out,
    in_list,
    out_list,
    in_out_list,
    params,
    device_scalar,
    workspace,
    random_state
  };
  Kind kind;
  const void* value;  ///< Array*; std::span<const Array>* for lists; the bytes of params, workspace and random_state
  size_t bytes;       ///< size of params, workspace and random_state; otherwise 0
};

/// One launch as an observer sees it. `run(kernel, arguments)` calls the kernel with the given arguments, these or
/// others of the same kinds.
struct Launch {
  const char* name;
  KernelId id;
  Device device;
  Backend::AnyKernel kernel;
  std::span<const LaunchArgument> arguments;
  void (*run)(Backend::AnyKernel kernel, const LaunchArgument* arguments);
};

/// Sees every outermost launch of a thread: profilers, counters and the recorder of static graphs.
class KUSARI_API LaunchObserver {
 public:
  LaunchObserver();
  virtual ~LaunchObserver();
  /// Must call proceed() once, which runs the kernel (and the observers installed before this one).
  virtual void on_launch(const Launch& launch, void (*proceed)(const Launch&)) = 0;

 private:
  friend class ScopedLaunchObserver;
  friend KUSARI_API void observe_launch(const Launch& launch);
  LaunchObserver* previous_ = nullptr;
};

/// Installs an observer on this thread for the object's life.
class KUSARI_API ScopedLaunchObserver {
 public:
  explicit ScopedLaunchObserver(LaunchObserver& observer);
  ScopedLaunchObserver(const ScopedLaunchObserver&) = delete;
  ScopedLaunchObserver& operator=(const ScopedLaunchObserver&) = delete;
  ~ScopedLaunchObserver();

 private:
  LaunchObserver* observer_;
};

namespace detail {

KUSARI_API extern constinit thread_local LaunchObserver* t_launch_observer __attribute__((tls_model("initial-exec")));
[[noreturn]] KUSARI_API void throw_missing_kernel(const char* kernel, const Device& device);
[[noreturn]] KUSARI_API void throw_unusable(const char* kernel, const Device& device, const Array& array);

template <class Marker>
struct ArgumentTraits;
template <class Marker, LaunchArgument::Kind kKind>
struct ArrayArgument {
  using Held = Marker;
  static LaunchArgument wrap(const Marker& m) { return {kKind, &*m, 0}; }
  static Marker unwrap(const LaunchArgument& a) { return Marker(*static_cast<const Array*>(a.value)); }
};
template <>
struct ArgumentTraits<In> : ArrayArgument<In, LaunchArgument::Kind::in> {};
template <>
struct ArgumentTraits<Out> : ArrayArgument<Out, LaunchArgument::Kind::out> {};
template <>
struct ArgumentTraits<InOut> : ArrayArgument<InOut, LaunchArgument::Kind::in_out> {};
template <>
struct ArgumentTraits<DeviceScalar> : ArrayArgument<DeviceScalar, LaunchArgument::Kind::device_scalar> {};
template <class Marker, LaunchArgument::Kind kKind>
struct ListArgument {
  static LaunchArgument wrap(const Marker& m) { return {kKind, &m, 0}; }  // Marker holds exactly one span
  static Marker unwrap(const LaunchArgument& a) { return *static_cast<const Marker*>(a.value); }
};
template <>
struct ArgumentTraits<InList> : ListArgument<InList, LaunchArgument::Kind::in_list> {};
template <>
struct ArgumentTraits<OutList> : ListArgument<OutList, LaunchArgument::Kind::out_list> {};
template <>
struct ArgumentTraits<InOutList> : ListArgument<InOutList, LaunchArgument::Kind::in_out_list> {};
template <class T>
struct ArgumentTraits<Params<T>> {
  static LaunchArgument wrap(const Params<T>& m) { return {LaunchArgument::Kind::params, &*m, sizeof(T)}; }
  static Params<T> unwrap(const LaunchArgument& a) { return Params<T>(*static_cast<const T*>(a.value)); }
};
template <class T, LaunchArgument::Kind kKind>
struct ValueArgument {
  static LaunchArgument wrap(const T& m) { return {kKind, &m, sizeof(T)}; }
  static T unwrap(const LaunchArgument& a) { return *static_cast<const T*>(a.value); }
};
template <>
struct ArgumentTraits<Workspace> : ValueArgument<Workspace, LaunchArgument::Kind::workspace> {};
template <>
struct ArgumentTraits<RandomState> : ValueArgument<RandomState, LaunchArgument::Kind::random_state> {};

/// What the kernel writes is no longer what it was: see Storage::generation.
template <class Marker>
void mark_written(const Marker&) noexcept {}
template <Access kAccess>
void mark_written(const Marked<kAccess>& marker) noexcept {
  if (kAccess != Access::read && marker) marker->mark_written();
}
template <Access kAccess>
void mark_written(const MarkedList<kAccess>& marker) noexcept {
  if constexpr (kAccess != Access::read) {
    for (const Array& array : marker.arrays()) {
      if (array.is_defined()) array.mark_written();
    }
  }
}

/// A kernel must not see addresses of another device, nor memory that has got other contents. The functions that users
/// call have said so with better words. A DeviceScalar may lie wherever its kernel can read it.
template <class Marker>
void check_device(const char*, const Device&, const Marker&) {}
inline void check_device(const char* kernel, const Device& device, const Array& array) {
  if (array.is_defined() && (array.device() != device || array.storage().stale != nullptr)) [[unlikely]]
    throw_unusable(kernel, device, array);
}
template <Access kAccess>
void check_device(const char* kernel, const Device& device, const Marked<kAccess>& marker) {
  check_device(kernel, device, *marker);
}
template <Access kAccess>
void check_device(const char* kernel, const Device& device, const MarkedList<kAccess>& marker) {
  for (const Array& array : marker.arrays()) check_device(kernel, device, array);
}

template <class K, class Signature>
struct Door;
template <class K, class... Markers>
struct Door<K, void(Markers...)> {
  static void launch(const Device& device, Markers... arguments) {
    const KernelId id = kernel_id<K>();
    const Backend::AnyKernel kernel = device.backend().find(id);
    if (kernel == nullptr) throw_missing_kernel(K::kName, device);
    (check_device(K::kName, device, arguments), ...);
    (mark_written(arguments), ...);
    if (t_launch_observer == nullptr) [[likely]] {
      reinterpret_cast<void (*)(Markers...)>(kernel)(arguments...);
    } else {
      observed(device, id, kernel, arguments...);
    }
  }

  /// Calls the kernel with arguments of the signature's kinds.
  static void run(Backend::AnyKernel kernel, const LaunchArgument* a) {
    call(kernel, a, std::index_sequence_for<Markers...>{});
  }

 private:
  static void observed(const Device& device, KernelId id, Backend::AnyKernel kernel, Markers... arguments);
  template <size_t... kIndex>
  static void call(Backend::AnyKernel kernel, const LaunchArgument* a, std::index_sequence<kIndex...>) {
    reinterpret_cast<void (*)(Markers...)>(kernel)(ArgumentTraits<Markers>::unwrap(a[kIndex])...);
  }
};

}  // namespace detail

/// Passes a launch through the observers of this thread.
KUSARI_API void observe_launch(const Launch& launch);

template <class K, class... Markers>
void detail::Door<K, void(Markers...)>::observed(const Device& device, KernelId id, Backend::AnyKernel kernel,
                                                 Markers... arguments) {
  const LaunchArgument wrapped[] = {ArgumentTraits<Markers>::wrap(arguments)...};
  observe_launch({K::kName, id, device, kernel, wrapped, &run});
}

/// Runs kernel K on the device; throws DeviceError naming both when the device's backend lacks it.
template <class K, class... Args>
void launch(const Device& device, const Args&... args) {
  detail::Door<K, typename K::Signature>::launch(device, args...);
}

}  // namespace kusari
