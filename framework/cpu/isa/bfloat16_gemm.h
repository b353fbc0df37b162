#pragma once

#include "kusari/framework/kernels/macros.h"

// Products of bfloat16 matrices with AVX512_BF16's dot products of pairs: the sums are float32, to which each
// instruction adds two products. Sources named bfloat16_* are compiled for one instruction set alone, Isa::v4_bf16.
//
// Packed matrices have pairs of consecutive k side by side, and panels of 32 columns:
// packed[column / 32][k / 2][column % 32][k % 2], with zeros past the last k and the last column. A bfloat16 is its 16
// bits here.

namespace kusari::cpu {

constexpr km::i64 kBfloat16Panel = 32;

/// Elements of a packed (k, n) matrix.
constexpr km::i64 bfloat16_packed_size(km::i64 k, km::i64 n) {
  return (n + kBfloat16Panel - 1) / kBfloat16Panel * kBfloat16Panel * ((k + 1) / 2 * 2);
}

/// A part of a product, small enough for a and one panel of b to stay in the second-level cache.
struct Bfloat16Tile {
  km::i64 m, n, k;
  const unsigned short* a;  // (m, k), the elements of a row contiguous, or packed (k, m)
  km::i64 a_row;            // unless it is packed
  bool is_a_packed;
  const unsigned short* b;  // packed
  km::i64 b_depth;          // k that it was packed with: that of the tile or more
  float* c;                 // (m, n); read where add, and written unless the result is rounded
  km::i64 c_row;
  bool add;
  const float* bias;        // (n), or null
  unsigned short* rounded;  // (m, n) in bfloat16, or null
  km::i64 rounded_row;
};

/// The order of summation depends on k alone: the same bits for any division of c among threads, as long as each call
/// gets the whole of k or the same parts of it.
struct Bfloat16GemmLoops {
  /// Packs b (k, n), whose strides are in elements. One of them should be 1.
  void (*pack)(const unsigned short* b, km::i64 b_row, km::i64 b_column, km::i64 k, km::i64 n, unsigned short* packed);
  /// c (m, n) (+)= a (m, k) b, b packed; the elements of a row of a are contiguous.
  void (*multiply)(const unsigned short* a, km::i64 a_row, km::i64 m, km::i64 k, const unsigned short* b, km::i64 n,
                   float* c, km::i64 c_row, bool add);
  /// c (m, n) (+)= a (k, m)^T b, both packed.
  void (*multiply_packed)(const unsigned short* a, km::i64 m, km::i64 k, const unsigned short* b, km::i64 n, float* c,
                          km::i64 c_row, bool add);
  /// c or rounded = [c +] a b [+ bias], each sum in one go over the tile's k.
  void (*multiply_tile)(const Bfloat16Tile& tile);
  /// sums (n) (+)= the rows of b (k, n), which is packed.
  void (*sum_rows)(const unsigned short* b, km::i64 k, km::i64 n, float* sums, bool add);
};

}  // namespace kusari::cpu

namespace kusari::cpu::v4_bf16 {
const Bfloat16GemmLoops* bfloat16_gemm_loops();
}
