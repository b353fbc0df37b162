#pragma once

#include <cstddef>
#include <cstdint>

namespace kusari::memory {

/// Memory of blocks above some 64 KiB: cut from one range of addresses in huge pages, merged with its free neighbours
/// when freed, so that what one phase of a program frees serves the next whatever the sizes. Two-level segregated fit
/// (Masmano et al. 2004), best fit within a class. Where addresses are limited (RLIMIT_AS), the range grows as it is
/// used and shrinks when it is released. Not thread-safe.
class LargeHeap {
 public:
  LargeHeap() = default;
  LargeHeap(const LargeHeap&) = delete;
  LargeHeap& operator=(const LargeHeap&) = delete;

  /// 64-byte aligned and uninitialised; null when the system has no memory.
  void* allocate(size_t bytes);
  void deallocate(void* block) noexcept;
  /// Gives what is free back to the system.
  void release_unused() noexcept;

  /// Bytes that came from the system and were not given back.
  int64_t reserved() const noexcept { return reserved_; }
  /// How often the system was asked for memory.
  int64_t system_allocations() const noexcept { return system_allocations_; }

 private:
  struct Header;
  static constexpr int kLevels = 48, kSteps = 16;

  static int level_of(size_t size) noexcept;
  static int step_of(size_t size, int level) noexcept;
  static Header* best_of(Header* list, size_t size) noexcept;
  Header* after(Header* block) const noexcept;
  Header* find(size_t size) noexcept;
  Header* carve(size_t size) noexcept;
  bool reserve_range() noexcept;
  bool begin_growing_range(size_t limit) noexcept;
  bool extend(size_t step) noexcept;
  void release_end() noexcept;
  bool commit(size_t size) noexcept;
  void insert(Header* block) noexcept;
  void remove(Header* block) noexcept;
  Header* cut(Header* block, size_t size) noexcept;
  Header* take(Header* block, size_t size) noexcept;

  // Blocks lie one after the other from the range's first byte to `end_`; what is behind has not been cut.
  char* end_ = nullptr;
  char* touched_ = nullptr;    // the highest that `end_` has been
  char* committed_ = nullptr;  // up to here there may be memory
  char* limit_ = nullptr;      // the end of the range
  bool grows_ = false;         // the range ends at `committed_`, and what follows is asked for when needed
  Header* last_ = nullptr;     // the block before `end_`
  uint64_t levels_ = 0;        // bit l: steps_[l] is not zero
  uint16_t steps_[kLevels] = {};
  Header* free_[kLevels][kSteps] = {};
  int64_t reserved_ = 0, system_allocations_ = 0;
};

}  // namespace kusari::memory
