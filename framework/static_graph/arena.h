#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"

namespace kusari::graphs {

/// The same text, never freed: for Storage::stale.
KUSARI_API const char* kept_text(const std::string& text);
/// Why an array that a replay has overwritten must not be used any longer, kept.
KUSARI_API const char* stale_text(const std::string& graph_name);

/// A block of device memory that several storages share; goes with the last of them.
class KUSARI_API Arena {
 public:
  /// Gives cached memory back to the system first if the block is large, so that what a recorded call has just freed
  /// does not stay beside it.
  static IntrusivePtr<Arena> create(const Device& device, size_t bytes);
  /// What the offsets of storages must be multiples of.
  static size_t alignment(const Device& device) noexcept { return device.is_cpu() ? 64 : 256; }

  Arena(const Device& device, size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  const Device& device() const noexcept { return device_; }
  size_t bytes() const noexcept { return bytes_; }
  char* data() const noexcept { return data_; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  std::atomic<uint32_t> references_{1};
  Device device_;
  size_t bytes_;
  char* data_;
};

/// A storage with one reference, which is the caller's, over memory of `keeper`, which it keeps alive; null: over
/// memory that the caller sees to.
KUSARI_API kusari::detail::Storage* make_storage(const Device& device, void* data, size_t bytes, Arena* keeper);

/// Memory for the intermediates of calls that are never in flight at the same time, as in test mode: as large as the
/// largest of them.
class KUSARI_API Scratch {
 public:
  /// At least `bytes` bytes, somewhere else than before when they had to grow.
  char* reserve(const Device& device, size_t bytes);

 private:
  std::vector<IntrusivePtr<Arena>> arenas_;  // one for each device
};

}  // namespace kusari::graphs
