#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kusari/cuda/runtime/free_blocks.h"

namespace kusari::cuda {

/// The blocks in use by their address: open addressing with linear probing; removal closes the gap, so that look-ups
/// stay short whatever came and went.
class BlockTable {
 public:
  BlockTable() : slots_(1024, nullptr) {}

  void insert(Block* block) {
    if (2 * ++size_ > slots_.size()) grow();
    place(block);
  }

  Block* find(const void* data) const noexcept {
    for (size_t i = home(data);; i = next(i)) {
      if (slots_[i] == nullptr || slots_[i]->data == data) return slots_[i];
    }
  }

  /// Takes the block at `data` out of the table; null if there is none.
  Block* remove(const void* data) noexcept {
    size_t hole = home(data);
    while (slots_[hole] != nullptr && slots_[hole]->data != data) hole = next(hole);
    Block* const found = std::exchange(slots_[hole], nullptr);
    if (found == nullptr) return nullptr;
    --size_;
    for (size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
      // A block may move into the hole when the hole is not before its home.
      if (((i - home(slots_[i]->data)) & mask()) >= ((i - hole) & mask())) {
        slots_[hole] = std::exchange(slots_[i], nullptr);
        hole = i;
      }
    }
    return found;
  }

 private:
  size_t mask() const noexcept { return slots_.size() - 1; }
  size_t next(size_t i) const noexcept { return (i + 1) & mask(); }
  size_t home(const void* data) const noexcept {
    // Fibonacci hashing: the upper bits depend on all bits of the address.
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(data) / kBlockUnit * 0x9E3779B97F4A7C15ull) >> 24) & mask();
  }
  void place(Block* block) noexcept {
    size_t i = home(block->data);
    while (slots_[i] != nullptr) i = next(i);
    slots_[i] = block;
  }
  void grow() {
    std::vector<Block*> old(2 * slots_.size(), nullptr);
    old.swap(slots_);
    for (Block* block : old) {
      if (block != nullptr) place(block);
    }
  }

  std::vector<Block*> slots_;  // a power of two of them
  size_t size_ = 0;
};

}  // namespace kusari::cuda
