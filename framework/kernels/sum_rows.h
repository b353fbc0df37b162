#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// The first of the two halves in which n numbers are added: the largest power of two below n (n >= 2). Sums of k
/// parts in such a tree are parts of that of n, where k and n are powers of two.
constexpr int64_t first_half(int64_t n) {
  int64_t half = 1;
  while (half * 2 < n) half *= 2;
  return half;
}

/// y = scale * sum over r of weights[r] * rows[r], for each column by itself, in the tree of first_half over the rows:
/// the same bits whatever part of the columns a call has. rows: (N, n), any dtype but bool, at most 1024 rows. weights:
/// (N) float64; undefined: all 1; rows of weight 0 are not read. y: (n), the dtype of rows. 16-bit floats
/// are summed in float32; integers wrap, and have no weights and scale 1. Columns lie side by side.
struct SumRows {
  static constexpr const char* kName = "sum_rows";
  using Signature = void(In rows, In weights, Params<double> scale, Out y);
};

}  // namespace kusari::kernels
