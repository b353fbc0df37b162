#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/large_heap.h"
#include "kusari/framework/core/size_classes.h"

namespace kusari::memory {

/// Blocks of up to 64 KiB, cut from slabs of one size class each. A slab none of whose blocks is in use can serve
/// another class, or go back to the system: who frees need not tell, since slabs are only looked at when that may be
/// worth while. Not thread-safe.
class SmallHeap {
 public:
  struct Block {
    Block* next;
  };
  /// Blocks of one class, linked from the first to the last.
  struct Chain {
    int cls;
    uint32_t count;
    Block* first;
    Block* last;
  };

  /// When the system gives no slabs, they are cut from what is free in `large`.
  explicit SmallHeap(LargeHeap& large) noexcept : large_{large} {}
  SmallHeap(const SmallHeap&) = delete;
  SmallHeap& operator=(const SmallHeap&) = delete;

  /// One to `wanted` blocks, of which the last has no next one; none when the system has no memory.
  Chain take(int cls, uint32_t wanted) noexcept;
  void give(const Chain& chain) noexcept;
  /// Gives the slabs that are not in use back to the system.
  void release_unused() noexcept;

  /// Bytes of the slabs.
  int64_t reserved() const noexcept { return reserved_; }
  /// How often the system was asked for memory.
  int64_t system_allocations() const noexcept { return system_allocations_; }

 private:
  struct Slab {
    char* begin;
    int32_t cls;       // kSpare: of none
    uint32_t free;     // blocks, while slabs are collected
    bool is_borrowed;  // from large_
  };
  struct Class {
    Block* free = nullptr;
    char* next = nullptr;  // what was not yet cut of its newest slab
    char* end = nullptr;
  };
  static constexpr int32_t kSpare = -1;

  Slab& slab_of(const void* block) noexcept;
  bool add_slab(int cls) noexcept;
  char* new_slab() noexcept;
  size_t collect() noexcept;

  LargeHeap& large_;
  Class classes_[kSmallClasses];
  std::vector<Slab> slabs_;   // by address
  Block* spare_ = nullptr;    // slabs of no class, each linked by its first bytes
  size_t free_bytes_ = 0;     // in the lists of the classes
  size_t collect_above_ = 0;  // so many slabs
  int64_t reserved_ = 0, system_allocations_ = 0;
};

}  // namespace kusari::memory
