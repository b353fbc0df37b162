#include "kusari/cuda/runtime/allocator.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory_limit.h"

namespace kusari::cuda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmallLimit = kMiB;        // larger blocks are not small
constexpr size_t kSmallSlab = 2 * kMiB;     // segment of small blocks
constexpr size_t kMediumLimit = 10 * kMiB;  // larger blocks get a segment of their own
constexpr size_t kMediumSlab = 20 * kMiB;
constexpr size_t kSegmentUnit = 2 * kMiB;  // what the driver maps at once
// A remainder that is smaller stays part of the block: bits of a few KiB between large blocks would never be used.
constexpr size_t kLargeRemainder = kMiB;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

template <class Integer>
std::string mib(Integer bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / static_cast<double>(kMiB));
  return text;
}

}  // namespace

CachingAllocator::CachingAllocator(SegmentSource& source, std::string device, bool pooled)
    : source_{source}, device_{std::move(device)}, pooled_{pooled} {}

CachingAllocator::~CachingAllocator() {
  finish_deferred(true);
  release_unused();
}

void* CachingAllocator::allocate(size_t bytes, void* stream) {
  if (bytes == 0) return nullptr;
  const std::scoped_lock lock(mutex_);
  if (bytes >= FreeBlocks::kSizeLimit) throw_out_of_memory(bytes);
  const size_t size = pooled_ ? round_up(bytes, kBlockUnit) : bytes;
  Pool& pool = pool_of(stream, size <= kSmallLimit);
  Block* block = nullptr;
  if (pooled_) {
    block = pool.free.take(size);
    if (block == nullptr) [[unlikely]]
      block = new_segment(pool, size);
    if (block->size - size > (pool.is_small ? 0 : kLargeRemainder)) cut(block, size);
  } else {
    finish_deferred(false);
    block = from_source(&pool, size);
    if (block == nullptr) throw_out_of_memory(bytes);
  }
  used_.insert(block);
  ++pool.counters.blocks;
  ++pool.counters.allocations;
  pool.counters.allocated += static_cast<int64_t>(block->size);
  statistics_.allocated += static_cast<int64_t>(block->size);
  statistics_.max_allocated = std::max(statistics_.max_allocated, statistics_.allocated);
  return block->data;
}

void CachingAllocator::deallocate(void* data) noexcept {
  if (data == nullptr) return;
  const std::scoped_lock lock(mutex_);
  Block* const block = used_.remove(data);
  if (block == nullptr) return;
  --block->pool->counters.blocks;
  block->pool->counters.allocated -= static_cast<int64_t>(block->size);
  statistics_.allocated -= static_cast<int64_t>(block->size);
  if (block->is_used_elsewhere) [[unlikely]]
    return defer(block);
  put_back(block);
}

void CachingAllocator::record_use(void* data, void* stream) {
  const std::scoped_lock lock(mutex_);
  Block* const block = used_.find(data);
  if (block == nullptr || block->pool->stream == stream) return;
  const bool known = std::any_of(used_elsewhere_.begin(), used_elsewhere_.end(),
                                 [&](const UsedElsewhere& use) { return use.block == block && use.stream == stream; });
  if (known) return;
  used_elsewhere_.push_back({block, stream});
  block->is_used_elsewhere = true;
}

void* CachingAllocator::stream_of(void* data) const {
  const std::scoped_lock lock(mutex_);
  const Block* const block = used_.find(data);
  return block == nullptr ? nullptr : block->pool->stream;
}

void CachingAllocator::hold(void* stream) {
  const std::scoped_lock lock(mutex_);
  for (const bool small : {false, true}) pool_of(stream, small).is_held = true;
}

void CachingAllocator::release_hold(void* stream) noexcept {
  const std::scoped_lock lock(mutex_);
  for (const bool small : {false, true}) {
    Pool& pool = pool_of(stream, small);
    pool.is_held = false;
    if (pooled_) continue;
    while (Block* const block = pool.free.take(0)) give_to_source(block);
  }
}

int64_t CachingAllocator::allocated_for(void* stream) const {
  const std::scoped_lock lock(mutex_);
  int64_t bytes = 0;
  for (const auto& pool : pools_) {
    if (pool->stream == stream) bytes += pool->counters.allocated;
  }
  return bytes;
}

void CachingAllocator::release_cached() {
  const std::scoped_lock lock(mutex_);
  finish_deferred(false);
  release_unused();
}

memory::Statistics CachingAllocator::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

void CachingAllocator::reset_max_allocated() {
  const std::scoped_lock lock(mutex_);
  statistics_.max_allocated = statistics_.allocated;
  max_reserved_ = statistics_.reserved;
}

PoolCounters CachingAllocator::counters(bool small) const {
  const std::scoped_lock lock(mutex_);
  PoolCounters sum;
  for (const auto& pool : pools_) {
    if (pool->is_small != small) continue;
    sum.add(pool->counters);
  }
  return sum;
}

std::string CachingAllocator::summary() const {
  const PoolCounters small = counters(true), large = counters(false);
  const std::scoped_lock lock(mutex_);
  const SegmentSource::MemoryInfo info = source_.memory_info();
  std::string text = device_ + " memory pool\n";
  char line[160];
  const auto row = [&](const char* name, const std::string& a, const std::string& b, const std::string& c) {
    std::snprintf(line, sizeof(line), "  %-18s %14s %14s %14s\n", name, a.c_str(), b.c_str(), c.c_str());
    text += line;
  };
  const auto bytes = [&](const char* name, int64_t a, int64_t b) { row(name, mib(a), mib(b), mib(a + b)); };
  const auto counts = [&](const char* name, int64_t a, int64_t b) {
    row(name, std::to_string(a), std::to_string(b), std::to_string(a + b));
  };
  row("", "<= 1 MiB", "> 1 MiB", "all");
  bytes("in use", small.allocated, large.allocated);
  bytes("cached", small.reserved - small.allocated, large.reserved - large.allocated);
  bytes("reserved", small.reserved, large.reserved);
  counts("segments", small.segments, large.segments);
  counts("blocks in use", small.blocks, large.blocks);
  counts("allocations", small.allocations, large.allocations);
  counts("splits", small.splits, large.splits);
  row("most in use", "", "", mib(statistics_.max_allocated));
  row("most reserved", "", "", mib(max_reserved_));
  row("driver allocations", "", "", std::to_string(statistics_.system_allocations));
  if (const size_t limit = get_memory_limit(); limit != 0) row("limit", "", "", mib(limit));
  row("free on the device", "", "", mib(info.free));
  row("of", "", "", mib(info.total));
  return text;
}

Pool& CachingAllocator::pool_of(void* stream, bool small) {
  for (const auto& pool : pools_) {
    if (pool->stream == stream && pool->is_small == small) return *pool;
  }
  return *pools_.emplace_back(std::make_unique<Pool>(Pool{stream, small, false, {}, {}}));
}

Block* CachingAllocator::new_block(char* data, size_t size, Pool* pool) {
  Block* block = unused_;
  if (block != nullptr) {
    unused_ = block->free_after;
  } else {
    block = &storage_.emplace_back();
  }
  *block = Block{};
  block->data = data;
  block->size = size;
  block->pool = pool;
  return block;
}

void CachingAllocator::recycle(Block* block) noexcept {
  block->free_after = unused_;
  unused_ = block;
}

// A block that is a whole segment, or null.
Block* CachingAllocator::from_source(Pool* pool, size_t bytes) {
  const size_t limit = get_memory_limit();
  if (limit != 0 && (bytes > limit || static_cast<size_t>(statistics_.reserved) > limit - bytes)) return nullptr;
  void* const data = source_.allocate_segment(bytes);
  if (data == nullptr) return nullptr;
  statistics_.reserved += static_cast<int64_t>(bytes);
  ++statistics_.system_allocations;
  max_reserved_ = std::max(max_reserved_, statistics_.reserved);
  pool->counters.reserved += static_cast<int64_t>(bytes);
  ++pool->counters.segments;
  return new_block(static_cast<char*>(data), bytes, pool);
}

// A block of at least `size` bytes when the pool's free ones do not serve.
Block* CachingAllocator::new_segment(Pool& pool, size_t size) {
  // Only now, so that memory used elsewhere costs nothing while there is other memory.
  finish_deferred(false);
  if (Block* const block = pool.free.take(size)) return block;
  const size_t bytes = pool.is_small ? kSmallSlab : size <= kMediumLimit ? kMediumSlab : round_up(size, kSegmentUnit);
  if (Block* const block = from_source(&pool, bytes)) return block;
  finish_deferred(true);
  if (Block* const block = pool.free.take(size)) return block;
  release_unused();
  if (Block* const block = from_source(&pool, bytes)) return block;
  // The slab is larger than what was asked for.
  if (Block* const block = from_source(&pool, round_up(size, kSegmentUnit))) return block;
  throw_out_of_memory(size);
}

void CachingAllocator::cut(Block* block, size_t size) {
  Block* const rest = new_block(block->data + size, block->size - size, block->pool);
  block->size = size;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->pool->free.put(rest);
  ++block->pool->counters.splits;
}

// Frees a block that no stream uses.
void CachingAllocator::put_back(Block* block) noexcept {
  FreeBlocks& free = block->pool->free;
  if (!pooled_) return block->pool->is_held ? free.put(block) : give_to_source(block);
  if (Block* const after = block->after; after != nullptr && after->is_free) {
    free.remove(after);
    absorb(block, after);
  }
  if (Block* const before = block->before; before != nullptr && before->is_free) {
    free.remove(before);
    absorb(before, block);
    block = before;
  }
  free.put(block);
}

// Makes `after`, the next block of the segment, part of `block`.
void CachingAllocator::absorb(Block* block, Block* after) noexcept {
  block->size += after->size;
  block->after = after->after;
  if (block->after != nullptr) block->after->before = block;
  recycle(after);
}

void CachingAllocator::defer(Block* block) noexcept {
  block->is_used_elsewhere = false;
  std::erase_if(used_elsewhere_, [&](const UsedElsewhere& use) {
    if (use.block != block) return false;
    void* const event = source_.record(use.stream);
    if (event == nullptr) return true;
    auto queue =
        std::find_if(deferred_.begin(), deferred_.end(), [&](const StreamQueue& q) { return q.stream == use.stream; });
    if (queue == deferred_.end()) queue = deferred_.insert(queue, {use.stream, {}});
    queue->blocks.push_back({block, event});
    ++block->pending;
    return true;
  });
  if (block->pending == 0) put_back(block);
}

// Frees the blocks whose events are done; with `wait`, all of them.
void CachingAllocator::finish_deferred(bool wait) noexcept {
  for (StreamQueue& queue : deferred_) {
    while (!queue.blocks.empty()) {
      const Deferred first = queue.blocks.front();
      if (wait) {
        source_.wait(first.event);
      } else if (!source_.is_done(first.event)) {
        break;
      }
      queue.blocks.pop_front();
      source_.recycle(first.event);
      if (--first.block->pending == 0) put_back(first.block);
    }
  }
}

void CachingAllocator::release_unused() noexcept {
  for (const auto& pool : pools_) {
    if (pool->is_held) continue;
    std::vector<Block*> kept;
    // Best fit hands out every free block once.
    while (Block* const block = pool->free.take(kBlockUnit)) {
      if (block->before == nullptr && block->after == nullptr) {
        give_to_source(block);
      } else {
        kept.push_back(block);
      }
    }
    for (Block* block : kept) pool->free.put(block);
  }
}

void CachingAllocator::give_to_source(Block* segment) noexcept {
  statistics_.reserved -= static_cast<int64_t>(segment->size);
  segment->pool->counters.reserved -= static_cast<int64_t>(segment->size);
  --segment->pool->counters.segments;
  source_.free_segment(segment->data, segment->size);
  recycle(segment);
}

void CachingAllocator::throw_out_of_memory(size_t bytes) {
  const SegmentSource::MemoryInfo info = source_.memory_info();
  const size_t limit = get_memory_limit();
  throw OutOfMemoryError(device_ + ": no memory for " + mib(bytes) + "; arrays hold " + mib(statistics_.allocated) +
                         ", the pool keeps " + mib(statistics_.reserved - statistics_.allocated) + " in pieces, " +
                         mib(info.free) + " of " + mib(info.total) + " are free" +
                         (limit != 0 ? "; the pool's limit is " + mib(limit) : std::string()));
}

}  // namespace kusari::cuda
