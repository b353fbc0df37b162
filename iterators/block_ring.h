#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/iterators/batch_layout.h"
#include "kusari/iterators/shared_memory.h"

namespace kusari::iterators {

/// Memory into which a worker writes and which arrays of this process view: it lives as long as the last of them.
class SharedBlock {
 public:
  /// Page-locked for `device`, unless that is the CPU.
  SharedBlock(Mapping memory, int64_t offset, const Device& device);
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  char* data() const noexcept { return memory_.data(); }
  int64_t offset() const noexcept { return offset_; }  // in its file
  int64_t bytes() const noexcept { return memory_.bytes(); }
  const Device& device() const noexcept { return device_; }
  /// Whether the caller's reference is the only one and no device copies from here any more.
  bool is_free() const;
  /// Arrays over `planes`, which lie in this block.
  datasets::Example wrap(const BatchLayout& layout, void* planes);

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  ~SharedBlock();

  Mapping memory_;
  int64_t offset_;
  Device device_;
  bool is_pinned_;
  int owner_;
  std::atomic<uint32_t> references_{0};
};

/// The blocks of one file, used again and again; as many as there are batches on the way and with the user.
class BlockRing {
 public:
  explicit BlockRing(const FileDescriptor& file) : file_{file} {}
  /// A block of at least that size. Throws OutOfMemoryError.
  IntrusivePtr<SharedBlock> take(int64_t bytes, const Device& device);

 private:
  static constexpr size_t kMaxFree = 4;  // after a time when the user kept many batches, memory is given back

  const FileDescriptor& file_;
  int64_t file_bytes_ = 0;
  std::vector<IntrusivePtr<SharedBlock>> blocks_;
};

}  // namespace kusari::iterators
