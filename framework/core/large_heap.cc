#include "kusari/framework/core/large_heap.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

namespace kusari::memory {
namespace {

constexpr size_t kHeader = 64;
constexpr size_t kSmallestRest = size_t{1} << 15;  // what is cut off a block is worth keeping from this size on
constexpr size_t kHugePage = size_t{1} << 21;
constexpr size_t kLarge = size_t{1} << 24;
constexpr size_t kGrowth = size_t{1} << 26;
constexpr size_t kPage = 4096;

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

char* round_up(char* at, size_t step) {
  return reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(at), step));
}

#ifdef MAP_FIXED_NOREPLACE
constexpr int kOnlyThere = MAP_FIXED_NOREPLACE;
#else
constexpr int kOnlyThere = 0;  // a hint, which the system follows where it can
#endif

// Memory at that address, if nothing is there.
bool map_at(char* address, size_t bytes, int protection) noexcept {
  void* const mapped =
      mmap(address, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kOnlyThere, -1, 0);
  if (mapped == address) return true;
  if (mapped != MAP_FAILED) munmap(mapped, bytes);
  return false;
}

// What this process may have of addresses; the largest number where that is not limited.
size_t address_limit() noexcept {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~size_t{0};
  return static_cast<size_t>(limit.rlim_cur);
}

}  // namespace

struct alignas(kHeader) LargeHeap::Header {
  size_t size;  // with the header
  Header* before;
  Header* next_free;
  Header* previous_free;
  bool is_free;
};

// The neighbour behind, or null.
LargeHeap::Header* LargeHeap::after(Header* block) const noexcept {
  char* const end = reinterpret_cast<char*>(block) + block->size;
  return end == end_ ? nullptr : reinterpret_cast<Header*>(end);
}

int LargeHeap::level_of(size_t size) noexcept { return std::bit_width(size) - 1; }

int LargeHeap::step_of(size_t size, int level) noexcept { return static_cast<int>(size >> (level - 4)) & (kSteps - 1); }

void LargeHeap::insert(Header* block) noexcept {
  const int level = level_of(block->size), step = step_of(block->size, level);
  Header*& first = free_[level][step];
  block->is_free = true;
  block->previous_free = nullptr;
  block->next_free = first;
  if (first != nullptr) first->previous_free = block;
  first = block;
  steps_[level] = static_cast<uint16_t>(steps_[level] | 1u << step);
  levels_ |= uint64_t{1} << level;
}

void LargeHeap::remove(Header* block) noexcept {
  block->is_free = false;
  if (block->next_free != nullptr) block->next_free->previous_free = block->previous_free;
  if (block->previous_free != nullptr) {
    block->previous_free->next_free = block->next_free;
    return;
  }
  const int level = level_of(block->size), step = step_of(block->size, level);
  free_[level][step] = block->next_free;
  if (block->next_free != nullptr) return;
  steps_[level] = static_cast<uint16_t>(steps_[level] & ~(1u << step));
  if (steps_[level] == 0) levels_ &= ~(uint64_t{1} << level);
}

LargeHeap::Header* LargeHeap::best_of(Header* list, size_t size) noexcept {
  Header* best = nullptr;
  for (Header* block = list; block != nullptr; block = block->next_free) {
    if (block->size >= size && (best == nullptr || block->size < best->size)) best = block;
  }
  return best;
}

// A free block of at least that size, the smallest of the first class that has one.
LargeHeap::Header* LargeHeap::find(size_t size) noexcept {
  const int level = level_of(size), step = step_of(size, level);
  if (Header* const block = best_of(free_[level][step], size)) return block;
  const auto steps = static_cast<uint16_t>(steps_[level] & ~((2u << step) - 1));
  if (steps != 0) return best_of(free_[level][std::countr_zero(steps)], size);
  const uint64_t levels = levels_ & ~((uint64_t{2} << level) - 1);
  if (levels == 0) return nullptr;
  const int higher = std::countr_zero(levels);
  return best_of(free_[higher][std::countr_zero(steps_[higher])], size);
}

// Cuts a block in two, the first `size` bytes long, and returns the second.
LargeHeap::Header* LargeHeap::cut(Header* block, size_t size) noexcept {
  auto* const second =
      ::new (reinterpret_cast<char*>(block) + size) Header{block->size - size, block, nullptr, nullptr, false};
  if (Header* const behind = after(block)) {
    behind->before = second;
  } else {
    last_ = second;
  }
  block->size = size;
  return second;
}

// `size` bytes of a block that was free; the rest stays free. Large blocks are taken from its beginning and others from
// its end, so that the large find their places again.
LargeHeap::Header* LargeHeap::take(Header* block, size_t size) noexcept {
  remove(block);
  if (block->size < size + kSmallestRest) return block;
  if (size >= kLarge) {
    insert(cut(block, size));
    return block;
  }
  Header* const taken = cut(block, block->size - size);
  insert(block);
  return taken;
}

// Addresses cost nothing unless they are limited, so there are enough for all the memory of the machine in one range,
// twice.
bool LargeHeap::reserve_range() noexcept {
  const size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t limit = address_limit();
  if (limit / 4 < memory && begin_growing_range(limit)) return true;
  for (size_t bytes = round_up(2 * memory, kGrowth); bytes >= kGrowth; bytes = round_up(bytes / 2, kHugePage)) {
    void* const range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    madvise(range, bytes, MADV_HUGEPAGE);
    limit_ = static_cast<char*>(range) + bytes;
    end_ = touched_ = committed_ = round_up(static_cast<char*>(range), kHugePage);
    return true;
  }
  return false;
}

// An empty range, so far from the mappings of others, which the system puts one below the other, that neither can reach
// the other within the limit.
bool LargeHeap::begin_growing_range(size_t limit) noexcept {
  void* const others = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (others == MAP_FAILED) return false;
  munmap(others, kPage);
  for (size_t distance = round_up(2 * limit, kGrowth) + kGrowth; distance < reinterpret_cast<uintptr_t>(others);
       distance *= 4) {
    char* const begin = round_up(static_cast<char*>(others) - distance, kHugePage);
    if (!map_at(begin, kPage, PROT_NONE)) continue;
    munmap(begin, kPage);
    limit_ = end_ = touched_ = committed_ = begin;
    grows_ = true;
    return true;
  }
  return false;
}

bool LargeHeap::extend(size_t step) noexcept {
  if (grows_) {
    if (!map_at(committed_, step, PROT_READ | PROT_WRITE)) return false;
    madvise(committed_, step, MADV_HUGEPAGE);
    limit_ = committed_ + step;
  } else if (step > static_cast<size_t>(limit_ - committed_) ||
             mprotect(committed_, step, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  committed_ += step;
  ++system_allocations_;
  return true;
}

// Lets the range be used for `size` bytes more.
bool LargeHeap::commit(size_t size) noexcept {
  if (limit_ == nullptr && !reserve_range()) return false;
  if (size <= static_cast<size_t>(committed_ - end_)) return true;
  const size_t missing = size - static_cast<size_t>(committed_ - end_);
  return extend(round_up(missing, grows_ ? kGrowth / 4 : kGrowth)) || extend(round_up(missing, kHugePage)) ||
         extend(round_up(missing, kPage));
}

LargeHeap::Header* LargeHeap::carve(size_t size) noexcept {
  if (!commit(size)) return nullptr;
  last_ = ::new (end_) Header{size, last_, nullptr, nullptr, false};
  end_ += size;
  if (end_ > touched_) {
    reserved_ += end_ - touched_;
    touched_ = end_;
  }
  return last_;
}

void* LargeHeap::allocate(size_t bytes) {
  const size_t size = round_up(std::max(bytes, kSmallestRest), kHeader) + kHeader;
  Header* const found = find(size);
  Header* const block = found != nullptr ? take(found, size) : carve(size);
  return block != nullptr ? reinterpret_cast<char*>(block) + kHeader : nullptr;
}

void LargeHeap::deallocate(void* data) noexcept {
  auto* block = reinterpret_cast<Header*>(static_cast<char*>(data) - kHeader);
  if (Header* const behind = after(block); behind != nullptr && behind->is_free) {
    remove(behind);
    block->size += behind->size;
  }
  if (Header* const before = block->before; before != nullptr && before->is_free) {
    remove(before);
    before->size += block->size;
    block = before;
  }
  if (Header* const behind = after(block)) {
    behind->before = block;
    insert(block);
  } else {  // nothing is cut off behind it any more
    last_ = block->before;
    end_ = reinterpret_cast<char*>(block);
  }
}

// Gives back what is behind the last block, so that nothing counts it any more: no limit, and no accounting of memory
// that is promised.
void LargeHeap::release_end() noexcept {
  char* const begin = round_up(end_, grows_ ? kPage : kHugePage);
  if (begin >= committed_) return;
  const size_t bytes = static_cast<size_t>(committed_ - begin);
  if (grows_) {
    if (munmap(begin, bytes) != 0) return;
    limit_ = begin;
  } else {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(begin, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) return;
    madvise(begin, bytes, MADV_HUGEPAGE);
  }
  committed_ = begin;
}

void LargeHeap::release_unused() noexcept {
  const auto discard = [](char* from, char* to) {
    char* const begin = round_up(from, kPage);
    if (to - begin >= static_cast<int64_t>(kPage)) {
      madvise(begin, static_cast<size_t>(to - begin) / kPage * kPage, MADV_DONTNEED);
    }
  };
  release_end();
  reserved_ -= touched_ - end_;
  discard(end_, std::min(touched_, committed_));
  touched_ = end_;
  for (auto& level : free_) {
    for (Header* list : level) {
      for (Header* block = list; block != nullptr; block = block->next_free) {
        char* const from = reinterpret_cast<char*>(block);
        discard(from + kHeader, from + block->size);
      }
    }
  }
}

}  // namespace kusari::memory
