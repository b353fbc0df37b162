#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

class Backend;
class Device;

namespace detail {
struct DeviceState {
  Backend* backend;
  int index;
  std::string name;  // "cpu", "cuda:0"
};
}  // namespace detail

/// A place where arrays live and kernels run: "cpu" or "cuda:N". A handle the size of a pointer; devices never go away.
class KUSARI_API Device {
 public:
  /// The CPU.
  Device();
  explicit Device(const detail::DeviceState* state) : state_{state} {}

  Backend& backend() const noexcept { return *state_->backend; }
  int index() const noexcept { return state_->index; }
  const std::string& name() const noexcept { return state_->name; }
  bool is_cpu() const noexcept { return state_ == cpu_state_; }

  friend bool operator==(const Device& a, const Device& b) noexcept { return a.state_ == b.state_; }

 private:
  friend Device get_device(const std::string& name);
  static const detail::DeviceState* cpu_state_;
  const detail::DeviceState* state_;
};

/// The device of that name: "cpu" (also Chainer's "@numpy", "native" and "-1"), "cuda:N" (also "@cupy:N" and "N").
/// Throws ValueError for another name, DeviceError when this build or machine has no such device.
KUSARI_API Device get_device(const std::string& name);
inline std::string to_string(const Device& device) { return device.name(); }
KUSARI_API std::ostream& operator<<(std::ostream& stream, const Device& device);
/// Waits until all work given to the device is done. The CPU is always done.
KUSARI_API void synchronize(const Device& device);

/// A moment in a device's work, to measure times between two of them: GPU time on CUDA, the host's clock on the CPU.
class KUSARI_API Event {
 public:
  explicit Event(const Device& device);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();
  /// Marks the end of all work given to the device so far.
  void record();
  /// Waits for the recorded moment.
  void synchronize() const;
  /// Seconds from `begin` to this event; waits for both.
  double seconds_since(const Event& begin) const;

 private:
  Device device_;
  void* event_ = nullptr;
  double host_seconds_ = 0;
};

/// Most bytes that an algorithm of a CPU kernel may use as scratch; process-wide, $KUSARI_MAX_WORKSPACE_SIZE or 256 MiB
/// at the start. With config.autotune, faster convolutions that need more are left out.
KUSARI_API void set_max_workspace_size(size_t bytes);
KUSARI_API size_t get_max_workspace_size();

namespace cuda {
/// Whether the CUDA backend is installed and finds a device.
KUSARI_API bool is_available();
/// How many CUDA devices there are; 0 without a driver, a card or the backend.
KUSARI_API int device_count();
/// Scratch of a library's algorithm, bytes: at first $KUSARI_MAX_WORKSPACE_SIZE or a 16th of the card's, 1 GiB at most.
KUSARI_API void set_max_workspace_size(size_t bytes);
KUSARI_API size_t get_max_workspace_size();
/// What the caching pool of a CUDA device holds, as a table. Throws DeviceError when there is no such device.
KUSARI_API std::string memory_summary(int index = 0);
/// Most bytes that arrays of the device held at once since the start or the last reset.
KUSARI_API size_t max_memory_allocated(int index = 0);
KUSARI_API void reset_max_memory_allocated(int index = 0);
/// Gives cached memory back to the driver.
KUSARI_API void release_cached_memory(int index = 0);
}  // namespace cuda

}  // namespace kusari
