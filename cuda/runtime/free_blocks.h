#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kusari::cuda {

/// Every block's size is a multiple of this, which is the alignment of every block too.
inline constexpr size_t kBlockUnit = 512;

struct Pool;

/// A part of a segment. The blocks of a segment are a list in the order of their addresses.
struct Block {
  char* data = nullptr;
  size_t size = 0;
  Pool* pool = nullptr;
  Block* before = nullptr;  // neighbours in the segment
  Block* after = nullptr;
  Block* free_before = nullptr;  // neighbours in the bin; free_after also links unused Block objects
  Block* free_after = nullptr;
  bool is_free = false;
  bool is_used_elsewhere = false;  // by streams that the allocator keeps a list of
  int pending = 0;                 // events to wait for before it is free
};

/// The free blocks of a pool by size, for best fit in constant time: a bin for each size up to 1 MiB, above it 32 bins
/// for each doubling, and two levels of bits that tell which bins hold blocks.
class FreeBlocks {
 public:
  /// Blocks are smaller than this.
  static constexpr size_t kSizeLimit = size_t{1} << 47;

  void put(Block* block) noexcept {
    const int bin = bin_of(block->size);
    Block*& head = bins_[static_cast<size_t>(bin)];
    block->is_free = true;
    block->free_before = nullptr;
    block->free_after = head;
    if (head != nullptr) head->free_before = block;
    head = block;
    words_[static_cast<size_t>(bin / 64)] |= uint64_t{1} << bin % 64;
    summary_ |= uint64_t{1} << bin / 64;
  }

  void remove(Block* block) noexcept {
    block->is_free = false;
    if (block->free_after != nullptr) block->free_after->free_before = block->free_before;
    if (block->free_before != nullptr) {
      block->free_before->free_after = block->free_after;
      return;
    }
    const int bin = bin_of(block->size);
    bins_[static_cast<size_t>(bin)] = block->free_after;
    if (block->free_after == nullptr) {
      uint64_t& word = words_[static_cast<size_t>(bin / 64)];
      word &= ~(uint64_t{1} << bin % 64);
      if (word == 0) summary_ &= ~(uint64_t{1} << bin / 64);
    }
  }

  /// Takes out the smallest block of at least `size` bytes, of equal ones the one freed last; null if there is none.
  Block* take(size_t size) noexcept {
    int bin = bin_of(size);
    Block* best = best_of(bin, size);
    if (best == nullptr) {
      bin = next_bin(bin + 1);
      if (bin < 0) return nullptr;
      best = best_of(bin, size);
    }
    remove(best);
    return best;
  }

 private:
  static constexpr int kExact = 2048;  // bins of one size
  static constexpr int kWords = 46;

  static int bin_of(size_t size) noexcept {
    const size_t units = size / kBlockUnit;
    if (units < kExact) return static_cast<int>(units);
    const int octave = static_cast<int>(std::bit_width(units)) - 1;
    return kExact + (octave - 11) * 32 + static_cast<int>(units >> (octave - 5) & 31);
  }
  static_assert(kWords <= 64);

  Block* best_of(int bin, size_t size) const noexcept {
    Block* block = bins_[static_cast<size_t>(bin)];
    if (bin < kExact) return block;
    Block* best = nullptr;
    for (; block != nullptr; block = block->free_after) {
      if (block->size >= size && (best == nullptr || block->size < best->size)) best = block;
    }
    return best;
  }

  int next_bin(int bin) const noexcept {
    size_t word = static_cast<size_t>(bin / 64);
    if (word >= kWords) return -1;
    if (const uint64_t rest = words_[word] >> bin % 64; rest != 0) return bin + std::countr_zero(rest);
    const uint64_t later = summary_ >> (word + 1) << (word + 1);
    if (later == 0) return -1;
    word = static_cast<size_t>(std::countr_zero(later));
    return static_cast<int>(word) * 64 + std::countr_zero(words_[word]);
  }

  std::array<Block*, size_t{kWords} * 64> bins_{};
  std::array<uint64_t, kWords> words_{};
  uint64_t summary_ = 0;
};

}  // namespace kusari::cuda
