#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/rows.h"

// Products with a few rows of a matrix for each example, without a copy of those rows. x: (N, D) and g: (N, K), float32
// or float64, of one dtype with y, C-ordered. W: (V, D), floating, C-ordered. rows: (N, K), int32 or int64; what is
// ignored takes no part, and an index out of range throws IndexError on the CPU.
namespace kusari::kernels {

/// y[i, k] = sum_d x[i, d] W[rows[i, k], d], 0 for the ignored row.
struct RowDots {
  static constexpr const char* kName = "row_dots";
  using Signature = void(Params<RowLookup> lookup, In x, In W, In rows, Out y);
};

/// y[i, d] = sum_k g[i, k] W[rows[i, k], d].
struct RowCombinations {
  static constexpr const char* kName = "row_combinations";
  using Signature = void(Params<RowLookup> lookup, In g, In W, In rows, Out y);
};

/// y[v, d] = sum of g[i, k] x[i, d] over all i and k with rows[i, k] = v, in their order. y: (V, D).
struct RowSums {
  static constexpr const char* kName = "row_sums";
  using Signature = void(Params<RowLookup> lookup, In g, In x, In rows, Out y);
};

}  // namespace kusari::kernels
