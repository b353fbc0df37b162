#pragma once

#include <cstdint>

#include "kusari/framework/core/dtype.h"

// What the sources of the matrix product share.
namespace kusari::cpu {

/// One product c = a b + bias of two matrices, computed in `dtype`. Strides are in elements; a and b each have a unit
/// stride along one axis, c along its rows.
struct MatrixProduct {
  Dtype dtype;
  int64_t m, n, k;
  const void* a;  // (m, k)
  int64_t a_row, a_column;
  const void* b;  // (k, n)
  int64_t b_row, b_column;
  void* c;  // (m, n)
  int64_t c_row;
  const void* bias;  // (n), or null
  Dtype a_dtype = dtype, b_dtype = dtype, c_dtype = dtype, bias_dtype = dtype;

  /// Rows [row, row + rows) and columns [column, column + columns) of c.
  MatrixProduct part(int64_t row, int64_t rows, int64_t column, int64_t columns) const;
};

// The functions below take matrices of `dtype` alone, except that c and bias of bfloat16 products may be float32.

/// Computes on the calling thread alone. float32 and float64.
void multiply_with_loops(const MatrixProduct& p);

/// Computes on the calling thread alone through oneDNN. float32 and bfloat16. False, with nothing done, when this build
/// has no oneDNN or oneDNN no such product for this processor.
bool multiply_with_onednn(const MatrixProduct& p);

/// Computes on the calling thread alone, with the faster one of the two. float32, float64 and bfloat16; throws Error
/// where this processor has no products of bfloat16.
void multiply_alone(const MatrixProduct& p);

/// Computes a product of bfloat16 on all threads. a_sums (m), or null: becomes the sums of a's rows, for which the
/// columns of a must be contiguous. False, with nothing done, where multiply_alone is faster.
bool multiply_by_pairs(const MatrixProduct& p, float* a_sums);

}  // namespace kusari::cpu
