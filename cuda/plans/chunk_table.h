#pragma once

#include <cstddef>
#include <cstdint>

#include "kusari/framework/core/host_device.h"

namespace kusari::cuda {

/// Elements that one block of a multi-tensor kernel visits: small enough that tensors of all sizes share the card
/// evenly, large enough that finding the tensor does not count.
inline constexpr int64_t kChunk = 16384;
/// Bytes of kernel parameters that every driver takes (4096), less what a kernel wants besides the table.
inline constexpr size_t kTableBytes = 4032;

constexpr uint32_t chunks_of(int64_t size) { return static_cast<uint32_t>((size + kChunk - 1) / kChunk); }

/// Tensors of one launch, each of kArrays arrays, passed by value as a kernel parameter: nothing is copied to the
/// device beforehand, and a captured launch keeps it. The chunks of all tensors are numbered through.
template <int kArrays>
struct ChunkTable {
  static constexpr int kCapacity =
      static_cast<int>((kTableBytes - 8) / ((kArrays + 1) * sizeof(int64_t) + 2 * sizeof(uint32_t)));

  void* data[kArrays][kCapacity];
  int64_t size[kCapacity];
  uint32_t end[kCapacity];    // number of chunks of this tensor and those before it
  uint32_t index[kCapacity];  // the tensor's place in the caller's list
  int32_t count = 0;

  bool is_full() const { return count == kCapacity; }
  uint32_t chunks() const { return count == 0 ? 0 : end[count - 1]; }

  /// Adds a tensor; the caller fills data[...][the result].
  int add(uint32_t place, int64_t elements) {
    end[count] = chunks() + chunks_of(elements);
    size[count] = elements;
    index[count] = place;
    return count++;
  }
};
static_assert(sizeof(ChunkTable<1>) <= kTableBytes && sizeof(ChunkTable<6>) <= kTableBytes);

/// Part of a tensor.
struct Chunk {
  int tensor;     // in the table
  int64_t begin;  // first element
  int64_t count;  // of elements
};

/// Chunk `number` of a table's chunks.
template <int kArrays>
KUSARI_HOST_DEVICE Chunk find_chunk(const ChunkTable<kArrays>& table, uint32_t number) {
  int low = 0, high = table.count - 1;  // the first tensor that ends after the chunk
  while (low < high) {
    const int middle = (low + high) / 2;
    if (table.end[middle] > number) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const uint32_t first = low == 0 ? 0 : table.end[low - 1];
  const int64_t begin = static_cast<int64_t>(number - first) * kChunk, rest = table.size[low] - begin;
  return {low, begin, rest < kChunk ? rest : kChunk};
}

}  // namespace kusari::cuda
