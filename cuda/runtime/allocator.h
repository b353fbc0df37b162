#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kusari/cuda/runtime/block_table.h"
#include "kusari/cuda/runtime/free_blocks.h"
#include "kusari/cuda/runtime/stream_events.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"

namespace kusari::cuda {

/// Where the caching allocator gets memory from.
class SegmentSource : public EventSource {
 public:
  struct MemoryInfo {
    size_t free = 0;
    size_t total = 0;
  };
  /// Null when the device has not that much left.
  virtual void* allocate_segment(size_t bytes) = 0;
  /// Waits for the device's work where it must.
  virtual void free_segment(void* data, size_t bytes) noexcept = 0;
  virtual MemoryInfo memory_info() noexcept = 0;
};

/// What a pool counts. Bytes, or numbers of things.
struct PoolCounters {
  int64_t allocated = 0;    ///< bytes in use
  int64_t reserved = 0;     ///< bytes of segments
  int64_t segments = 0;     ///< segments held
  int64_t blocks = 0;       ///< blocks in use
  int64_t allocations = 0;  ///< calls of allocate so far
  int64_t splits = 0;       ///< blocks cut in two so far

  void add(const PoolCounters& other) noexcept {
    allocated += other.allocated;
    reserved += other.reserved;
    segments += other.segments;
    blocks += other.blocks;
    allocations += other.allocations;
    splits += other.splits;
  }
};

/// Blocks of one stream: the small ones come from 2 MiB slabs; the others from 20 MiB slabs or segments of their own.
struct Pool {
  void* stream;
  bool is_small;
  bool is_held;  // by graphs, which use free blocks too
  FreeBlocks free;
  PoolCounters counters;
};

/// The memory of one device. Blocks are used again without asking the driver; a block given back may be handed out for
/// the same stream at once, since work there runs in order, and for no other stream. Thread-safe.
class CachingAllocator {
 public:
  /// `device`: its name in error messages. Without pooling every block is a segment.
  CachingAllocator(SegmentSource& source, std::string device, bool pooled);
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// A block for work on the stream, aligned to 512 bytes; null for 0 bytes. Throws OutOfMemoryError.
  void* allocate(size_t bytes, void* stream);
  /// Null is ignored.
  void deallocate(void* data) noexcept;
  /// The block at `data` is also used by work already given to another stream, or given to it before deallocate: it is
  /// not handed out again before that work is done.
  void record_use(void* data, void* stream);
  /// The stream that the block at `data` was allocated for.
  void* stream_of(void* data) const;

  /// From now on memory for `stream`, which may be any mark that is no stream, stays its own after it is given back,
  /// though other memory run out: graphs that will be replayed use it.
  void hold(void* stream);
  /// Ends that.
  void release_hold(void* stream) noexcept;
  /// Bytes in use that were allocated for the stream.
  int64_t allocated_for(void* stream) const;
  /// Gives segments that nobody uses back to the source, after the work on them.
  void release_cached();

  memory::Statistics statistics() const;
  void reset_max_allocated();
  /// The sum over the streams.
  PoolCounters counters(bool small) const;
  /// What is in use and kept, as a table.
  std::string summary() const;

 private:
  struct Deferred {
    Block* block;
    void* event;
  };
  struct UsedElsewhere {
    Block* block;
    void* stream;
  };
  struct StreamQueue {
    void* stream;
    std::deque<Deferred> blocks;
  };

  Pool& pool_of(void* stream, bool small);
  Block* new_block(char* data, size_t size, Pool* pool);
  void recycle(Block* block) noexcept;
  Block* from_source(Pool* pool, size_t bytes);
  Block* new_segment(Pool& pool, size_t size);
  void cut(Block* block, size_t size);
  void put_back(Block* block) noexcept;
  void absorb(Block* block, Block* after) noexcept;
  void defer(Block* block) noexcept;
  void finish_deferred(bool wait) noexcept;
  void release_unused() noexcept;
  void give_to_source(Block* segment) noexcept;
  [[noreturn]] void throw_out_of_memory(size_t bytes);

  SegmentSource& source_;
  const std::string device_;
  const bool pooled_;
  mutable ForkSafeMutex mutex_;
  std::vector<std::unique_ptr<Pool>> pools_;
  BlockTable used_;
  std::vector<UsedElsewhere> used_elsewhere_;
  std::vector<StreamQueue> deferred_;
  std::deque<Block> storage_;  // of all Block objects
  Block* unused_ = nullptr;
  memory::Statistics statistics_;
  int64_t max_reserved_ = 0;
};

}  // namespace kusari::cuda
