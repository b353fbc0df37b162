#include "kusari/cuda/runtime/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::cuda {
namespace {

constexpr size_t kSmallestBlock = 512;
constexpr size_t kSlabLimit = size_t{64} << 10;  // larger blocks are locked one by one
constexpr size_t kSlab = size_t{1} << 20;
// More memory than this does not wait for its copies: then the host runs too far ahead of the device.
constexpr size_t kPendingLimit = size_t{256} << 20;

}  // namespace

PinnedPool::~PinnedPool() {
  while (!pending_.empty()) wait_for_oldest();
  release_cached();
}

// Four sizes for each doubling, so at most a quarter is lost.
size_t PinnedPool::size_class(size_t bytes) noexcept {
  if (bytes <= kSmallestBlock) return kSmallestBlock;
  const size_t step = std::max(std::bit_floor(bytes - 1) / 4, kSmallestBlock);
  return (bytes + step - 1) / step * step;
}

void* PinnedPool::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t size = size_class(bytes);
  const std::scoped_lock lock(mutex_);
  while (pending_bytes_ > kPendingLimit) wait_for_oldest();
  std::vector<Block*>& free = free_[size];
  if (free.empty()) finish_pending();
  Block* block = nullptr;
  if (free.empty()) {
    block = new_block(size);
  } else {
    block = free.back();
    free.pop_back();
  }
  statistics_.allocated += static_cast<int64_t>(size);
  statistics_.max_allocated = std::max(statistics_.max_allocated, statistics_.allocated);
  return block->data;
}

void PinnedPool::deallocate(void* data) noexcept {
  if (data == nullptr) return;
  const std::scoped_lock lock(mutex_);
  const auto at = blocks_.find(static_cast<const char*>(data));
  if (at == blocks_.end() || at->second->is_adopted) return;
  Block& block = *at->second;
  statistics_.allocated -= static_cast<int64_t>(block.size);
  if (block.uses.empty()) {
    free_[block.size].push_back(&block);
  } else {
    pending_.push_back(&block);
    pending_bytes_ += block.size;
  }
}

bool PinnedPool::adopt(void* data, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  auto* const begin = static_cast<char*>(data);
  if (bytes == 0) return false;
  const auto before = blocks_.lower_bound(begin + bytes - 1);  // the last that begins inside or before
  if (before != blocks_.end() && before->first + before->second->size > begin) return false;
  blocks_[begin] = std::make_unique<Block>(Block{begin, bytes, {}, true});
  return true;
}

bool PinnedPool::release_adopted(void* data) noexcept {
  std::unique_ptr<Block> block;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = blocks_.find(static_cast<const char*>(data));
    if (at == blocks_.end() || !at->second->is_adopted) return false;
    block = std::move(at->second);
    blocks_.erase(at);
  }
  finish(*block, true);  // others need not wait with us
  return true;
}

PinnedPool::Block* PinnedPool::block_around(const void* inside) const noexcept {
  const auto at = blocks_.lower_bound(static_cast<const char*>(inside));  // the last that begins at or before it
  const bool is_inside = at != blocks_.end() && static_cast<const char*>(inside) < at->first + at->second->size;
  return is_inside ? at->second.get() : nullptr;
}

bool PinnedPool::contains(const void* inside, size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  const Block* const block = block_around(inside);
  return block != nullptr && bytes <= static_cast<size_t>(block->data + block->size - static_cast<const char*>(inside));
}

bool PinnedPool::is_used(const void* inside) {
  const std::scoped_lock lock(mutex_);
  Block* const block = block_around(inside);
  return block != nullptr && !finish(*block, false);
}

bool PinnedPool::record_use(const void* inside, EventSource& events, void* stream) {
  const std::scoped_lock lock(mutex_);
  Block* const block = block_around(inside);
  if (block == nullptr) return false;
  void* const event = events.record(stream);
  if (event == nullptr) return true;
  for (Use& use : block->uses) {
    if (use.stream != stream || use.events != &events) continue;
    events.recycle(use.event);  // the later event of a stream says it all
    use.event = event;
    return true;
  }
  block->uses.push_back({&events, stream, event});
  return true;
}

void PinnedPool::release_cached() {
  const std::scoped_lock lock(mutex_);
  finish_pending();
  release_free();
}

void PinnedPool::release_free() noexcept {
  for (auto& [size, blocks] : free_) {
    if (size <= kSlabLimit) continue;
    for (Block* block : blocks) {
      statistics_.reserved -= static_cast<int64_t>(size);
      source_.free_host(block->data);
      blocks_.erase(block->data);
    }
    blocks.clear();
  }
}

memory::Statistics PinnedPool::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

PinnedPool::Block* PinnedPool::new_block(size_t size) {
  const bool cut = size <= kSlabLimit;
  char* data = nullptr;
  if (!cut || slab_left_ < size) {
    const size_t bytes = cut ? kSlab : size;
    data = static_cast<char*>(source_.allocate_host(bytes));
    if (data == nullptr) {
      while (!pending_.empty()) wait_for_oldest();
      release_free();
      data = static_cast<char*>(source_.allocate_host(bytes));
    }
    if (data == nullptr) {
      throw OutOfMemoryError("empty_pinned: the system locks no " + std::to_string(bytes) + " bytes more; " +
                             std::to_string(statistics_.allocated) + " bytes are in use and " +
                             std::to_string(statistics_.reserved - statistics_.allocated) + " cached");
    }
    statistics_.reserved += static_cast<int64_t>(bytes);
    ++statistics_.system_allocations;
    if (cut) {
      slab_ = data;
      slab_left_ = bytes;
    }
  }
  if (cut) {
    data = slab_;
    slab_ += size;
    slab_left_ -= size;
  }
  return (blocks_[data] = std::make_unique<Block>(Block{data, size, {}, false})).get();
}

// Whether no copy uses the block any more.
bool PinnedPool::finish(Block& block, bool wait) noexcept {
  std::erase_if(block.uses, [&](const Use& use) {
    if (wait) {
      use.events->wait(use.event);
    } else if (!use.events->is_done(use.event)) {
      return false;
    }
    use.events->recycle(use.event);
    return true;
  });
  return block.uses.empty();
}

void PinnedPool::finish_pending() noexcept {
  std::erase_if(pending_, [&](Block* block) {
    if (!finish(*block, false)) return false;
    pending_bytes_ -= block->size;
    free_[block->size].push_back(block);
    return true;
  });
}

void PinnedPool::wait_for_oldest() noexcept {
  Block* const block = pending_.front();
  pending_.pop_front();
  finish(*block, true);
  pending_bytes_ -= block->size;
  free_[block->size].push_back(block);
}

}  // namespace kusari::cuda
