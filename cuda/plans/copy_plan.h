#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/host_device.h"

// How elements are copied from one layout to another. Operand 0 is what is written, operand 1 what is read.
namespace kusari::cuda {

struct CopyPlaces {
  char* to;
  const char* from;
  Dtype to_dtype, from_dtype;
};

/// Matrices whose rows are contiguous in `to` and whose columns are contiguous in `from`, cut into square tiles.
struct Transposition {
  CopyPlaces places;
  int32_t rows, columns;
  int32_t from_stride;   // bytes from one column to the next
  int32_t to_stride;     // bytes from one row to the next
  Divisor across, down;  // tiles of a matrix
  StridedIndex<2> matrices;
};

struct Tile {
  int row, column;   // its first element
  int64_t to, from;  // bytes to its matrix
};

KUSARI_HOST_DEVICE Tile tile_of(const Transposition& t, uint32_t block, int side) {
  const uint32_t line = t.across.quotient(block), matrix = t.down.quotient(line);
  uint32_t number[1] = {matrix};
  int32_t offset[2][1];
  t.matrices.offsets(number, offset);
  return {static_cast<int>(line - matrix * t.down.value()) * side,
          static_cast<int>(block - line * t.across.value()) * side, offset[0][0], offset[1][0]};
}

/// Side of a tile of words of that many bytes: at least 128 bytes.
constexpr int tile_side(size_t bytes) { return bytes <= 2 ? 64 : 32; }

/// The axis along which x's elements follow each other, when y's do along another one and both are long; else -1.
inline int transposed_axis(const StridedRange<2>& range, int64_t to_size, int64_t from_size) {
  constexpr int64_t kLong = 16;
  const int inner = range.ndim - 1;
  if (range.stride[0][inner] != to_size || range.stride[1][inner] == from_size || range.stride[1][inner] == 0)
    return -1;
  for (int axis = 0; axis < inner; ++axis) {
    if (range.stride[1][axis] == from_size) return std::min(range.size[axis], range.size[inner]) >= kLong ? axis : -1;
  }
  return -1;
}

/// A piece that is narrow; the tiles' side is `side`.
inline Transposition transposition_of(const StridedRange<2>& piece, CopyPlaces places, int axis, int side) {
  const int inner = piece.ndim - 1;
  Transposition t;
  t.places = places;
  t.places.to = piece.base[0];
  t.places.from = piece.base[1];
  t.rows = static_cast<int32_t>(piece.size[axis]);
  t.columns = static_cast<int32_t>(piece.size[inner]);
  t.from_stride = static_cast<int32_t>(piece.stride[1][inner]);
  t.to_stride = static_cast<int32_t>(piece.stride[0][axis]);
  t.across = Divisor((t.columns + side - 1) / side);
  t.down = Divisor((t.rows + side - 1) / side);
  StridedRange<2> matrices;
  matrices.ndim = 0;
  for (int other = 0; other < inner; ++other) {
    if (other == axis) continue;
    matrices.size[matrices.ndim] = piece.size[other];
    for (int k = 0; k < 2; ++k) matrices.stride[k][matrices.ndim] = piece.stride[k][other];
    ++matrices.ndim;
  }
  if (matrices.ndim == 0) {
    matrices.ndim = 1;
    matrices.size[0] = 1;
    matrices.stride[0][0] = matrices.stride[1][0] = 0;
  }
  t.matrices = matrices.index();
  return t;
}

/// How many tiles the piece of `t` has.
inline int64_t tiles_of(const Transposition& t, const StridedRange<2>& piece) {
  return piece.elements() / (int64_t{t.rows} * t.columns) * t.across.value() * t.down.value();
}

/// Whether pairs of words can be read and written at once.
inline bool has_pairs(const StridedRange<2>& piece, int axis, int64_t word) {
  const int64_t pair = 2 * word;
  if (piece.size[axis] % 2 != 0 || piece.size[piece.ndim - 1] % 2 != 0) return false;
  for (int k = 0; k < 2; ++k) {
    if (reinterpret_cast<uintptr_t>(piece.base[k]) % static_cast<uint64_t>(pair) != 0) return false;
    const int neighbours = k == 0 ? piece.ndim - 1 : axis;
    for (int other = 0; other < piece.ndim; ++other) {
      if (other != neighbours && piece.stride[k][other] % pair != 0) return false;
    }
  }
  return true;
}

/// Bytes of the largest word in which neighbours can be copied together.
inline int64_t word_of(const StridedRange<2>& range, int itemsize) {
  const int inner = range.ndim - 1;
  if (range.stride[0][inner] != itemsize || range.stride[1][inner] != itemsize) return itemsize;
  int64_t word = 16;
  while (word > itemsize && !range.has_packs(word / itemsize, {itemsize, itemsize})) word /= 2;
  return word;
}

}  // namespace kusari::cuda
