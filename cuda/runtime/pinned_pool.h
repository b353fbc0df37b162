#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kusari/cuda/runtime/stream_events.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"

namespace kusari::cuda {

/// Where the pinned pool gets page-locked memory from.
class HostSource {
 public:
  HostSource(const HostSource&) = delete;
  HostSource& operator=(const HostSource&) = delete;
  virtual ~HostSource() = default;
  /// Null when there is none.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void free_host(void* data) noexcept = 0;

 protected:
  HostSource() = default;
};

/// Page-locked host memory that devices copy from and to. Locking pages takes the driver milliseconds, so blocks are
/// kept by size; one that copies still use is handed out again after them. Thread-safe.
class PinnedPool {
 public:
  explicit PinnedPool(HostSource& source) : source_{source} {}
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  ~PinnedPool();

  /// Aligned to 512 bytes; null for 0 bytes. Throws OutOfMemoryError.
  void* allocate(size_t bytes);
  /// Null is ignored.
  void deallocate(void* data) noexcept;
  /// Takes in memory of somebody else's that is page-locked already. False if it overlaps a block, or is empty.
  bool adopt(void* data, size_t bytes);
  /// Lets go of adopted memory, after the copies that use it. Whether it was adopted.
  bool release_adopted(void* data) noexcept;
  /// The work given to the stream so far uses the block around `inside`. Whether it lies in a block.
  bool record_use(const void* inside, EventSource& events, void* stream);
  /// Whether the bytes lie in one block.
  bool contains(const void* inside, size_t bytes) const;
  /// Whether work of record_use still uses the block around `inside`.
  bool is_used(const void* inside);
  void release_cached();
  memory::Statistics statistics() const;

 private:
  struct Use {
    EventSource* events;
    void* stream;
    void* event;
  };
  struct Block {
    char* data;
    size_t size;
    std::vector<Use> uses;
    bool is_adopted = false;
  };

  static size_t size_class(size_t bytes) noexcept;
  Block* new_block(size_t size);
  Block* block_around(const void* inside) const noexcept;
  bool finish(Block& block, bool wait) noexcept;
  void finish_pending() noexcept;
  void release_free() noexcept;
  void wait_for_oldest() noexcept;

  HostSource& source_;
  mutable ForkSafeMutex mutex_;
  std::map<const char*, std::unique_ptr<Block>, std::greater<>> blocks_;  // all, by address, downwards
  std::map<size_t, std::vector<Block*>> free_;                            // by size
  std::deque<Block*> pending_;                                            // given back, still used by copies
  size_t pending_bytes_ = 0;
  char* slab_ = nullptr;  // rest of the slab that small blocks are cut from
  size_t slab_left_ = 0;
  memory::Statistics statistics_;
};

}  // namespace kusari::cuda
