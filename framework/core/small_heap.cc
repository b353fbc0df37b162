#include "kusari/framework/core/small_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace kusari::memory {
namespace {

constexpr size_t kSlab = (size_t{1} << 18) + (size_t{1} << 13);
// Blocks that are free in all classes together are looked through when they are that much, and half of all slabs.
constexpr size_t kWorthCollecting = size_t{1} << 22;

// From one block to the next. Where blocks all begin at the same place of a page, a step of MomentumSGD over 16 KiB
// took half as long again in 8 of 26 runs on Zen 4, and in none of 12 where they do not: probably since that processor
// tells the lines of one set of its first cache apart by a hash of their addresses, which collides for some.
size_t stride(int cls) {
  constexpr size_t kStagger = 448;
  const size_t bytes = class_bytes(cls);
  return bytes >= 4096 ? bytes + kStagger : bytes;
}

uint32_t slab_capacity(int cls) { return static_cast<uint32_t>(kSlab / stride(cls)); }

}  // namespace

SmallHeap::Slab& SmallHeap::slab_of(const void* block) noexcept {
  const auto behind = std::upper_bound(slabs_.begin(), slabs_.end(), static_cast<const char*>(block),
                                       [](const char* at, const Slab& slab) { return at < slab.begin; });
  return *(behind - 1);
}

// Memory for a slab that is entered in the table; null when there is none.
char* SmallHeap::new_slab() noexcept {
  try {
    if (slabs_.size() == slabs_.capacity()) slabs_.reserve(std::max<size_t>(64, 2 * slabs_.size()));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void* memory = mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_borrowed = memory == MAP_FAILED;
  if (is_borrowed) {
    memory = large_.allocate(kSlab);
    if (memory == nullptr) return nullptr;
  } else {
    reserved_ += kSlab;
    ++system_allocations_;
  }
  char* const begin = static_cast<char*>(memory);
  const auto behind = std::upper_bound(slabs_.begin(), slabs_.end(), begin,
                                       [](const char* at, const Slab& slab) { return at < slab.begin; });
  slabs_.insert(behind, {begin, kSpare, 0, is_borrowed});
  return begin;
}

bool SmallHeap::add_slab(int cls) noexcept {
  if (spare_ == nullptr && free_bytes_ >= std::max(kWorthCollecting, slabs_.size() * (kSlab / 2)) &&
      slabs_.size() >= collect_above_) {
    // To look in vain costs little when there is a fourth more next time.
    collect_above_ = collect() >= slabs_.size() / 8 ? 0 : slabs_.size() + slabs_.size() / 4;
  }
  char* begin = nullptr;
  if (spare_ != nullptr) {
    begin = reinterpret_cast<char*>(spare_);
    spare_ = spare_->next;
  } else {
    begin = new_slab();
    if (begin == nullptr) return false;
  }
  slab_of(begin).cls = cls;
  classes_[cls].next = begin;
  classes_[cls].end = begin + slab_capacity(cls) * stride(cls);
  return true;
}

SmallHeap::Chain SmallHeap::take(int cls, uint32_t wanted) noexcept {
  Class& from = classes_[cls];
  Chain chain{cls, 0, nullptr, nullptr};
  if (from.free != nullptr) {
    chain.first = chain.last = from.free;
    for (chain.count = 1; chain.count < wanted && chain.last->next != nullptr; ++chain.count) {
      chain.last = chain.last->next;
    }
    from.free = chain.last->next;
    chain.last->next = nullptr;
    free_bytes_ -= chain.count * class_bytes(cls);
    return chain;
  }
  if (from.next == from.end && !add_slab(cls)) return chain;
  const size_t step = stride(cls);
  for (; chain.count < wanted && from.next != from.end; ++chain.count, from.next += step) {
    Block* const block = ::new (from.next) Block{nullptr};
    (chain.last == nullptr ? chain.first : chain.last->next) = block;
    chain.last = block;
  }
  return chain;
}

void SmallHeap::give(const Chain& chain) noexcept {
  Class& to = classes_[chain.cls];
  chain.last->next = to.free;
  to.free = chain.first;
  free_bytes_ += chain.count * class_bytes(chain.cls);
}

// Makes slabs spare all of whose blocks are free or not yet cut; returns how many.
size_t SmallHeap::collect() noexcept {
  for (Slab& slab : slabs_) slab.free = 0;
  for (int cls = 0; cls < kSmallClasses; ++cls) {
    const Class& each = classes_[cls];
    for (const Block* block = each.free; block != nullptr; block = block->next) ++slab_of(block).free;
    if (each.next != each.end) {
      slab_of(each.next).free += static_cast<uint32_t>(static_cast<size_t>(each.end - each.next) / stride(cls));
    }
  }
  const auto is_unused = [](const Slab& slab) { return slab.cls != kSpare && slab.free == slab_capacity(slab.cls); };
  for (int cls = 0; cls < kSmallClasses; ++cls) {
    Class& each = classes_[cls];
    if (each.next != each.end && is_unused(slab_of(each.next))) each.next = each.end = nullptr;
    for (Block** link = &each.free; *link != nullptr;) {
      if (is_unused(slab_of(*link))) {
        *link = (*link)->next;
        free_bytes_ -= class_bytes(cls);
      } else {
        link = &(*link)->next;
      }
    }
  }
  size_t found = 0;
  for (Slab& slab : slabs_) {
    if (!is_unused(slab)) continue;
    slab.cls = kSpare;
    spare_ = ::new (slab.begin) Block{spare_};
    ++found;
  }
  return found;
}

void SmallHeap::release_unused() noexcept {
  collect();
  collect_above_ = 0;
  spare_ = nullptr;
  std::erase_if(slabs_, [&](const Slab& slab) {
    if (slab.cls != kSpare) return false;
    if (slab.is_borrowed) {
      large_.deallocate(slab.begin);
    } else if (munmap(slab.begin, kSlab) == 0) {
      reserved_ -= kSlab;
    } else {  // too many mappings
      madvise(slab.begin, kSlab, MADV_DONTNEED);
      spare_ = ::new (slab.begin) Block{spare_};
      return false;
    }
    return true;
  });
}

}  // namespace kusari::memory
