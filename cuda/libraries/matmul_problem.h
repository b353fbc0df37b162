#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/shape.h"

// What a product of matrices is, before any library sees it: plain host code.
namespace kusari::cuda {

/// A matrix in device memory; strides in elements.
struct Matrix {
  char* data = nullptr;
  Dtype dtype = Dtype::float32;
  int64_t row = 0, column = 0;
};

/// Products that differ by steps along an axis of the batch; steps in elements, 0 where an operand is the same for all.
struct BatchAxis {
  int64_t size, a, b, c;
};

/// c = a b + bias, or c += a b; a: (m, k), b: (k, n), c: (m, n), bias: (n) of c's dtype or null.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  const void* bias = nullptr;
  bool accumulate = false;
  int batch_axes = 0;
  BatchAxis batch[kMaxNdim] = {};  // outermost first

  void add_batch_axis(const BatchAxis& axis) { batch[batch_axes++] = axis; }
  void drop_batch_axis(int axis) {
    for (int i = axis + 1; i < batch_axes; ++i) batch[i - 1] = batch[i];
    --batch_axes;
  }
  /// The product that many steps along a batch axis.
  void move(int axis, int64_t steps) {
    a.data += steps * batch[axis].a * itemsize(a.dtype);
    b.data += steps * batch[axis].b * itemsize(b.dtype);
    c.data += steps * batch[axis].c * itemsize(c.dtype);
  }
  /// The same elements seen as c^T = b^T a^T. The bias is not.
  void transpose() {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a.row, a.column);
    std::swap(b.row, b.column);
    std::swap(c.row, c.column);
    for (int i = 0; i < batch_axes; ++i) std::swap(batch[i].a, batch[i].b);
  }
  /// Gives axes of size 1 the strides that a dense matrix has, which libraries check.
  void settle_strides() {
    settle(m, k, a);
    settle(k, n, b);
    settle(m, n, c);
  }
  /// Makes as few batch axes as possible: those of size 1 are dropped, those that are one range are merged, and those
  /// along which only the rows of a and c go on become rows.
  void merge_batches() {
    for (int i = batch_axes - 1; i >= 0; --i) {
      if (batch[i].size == 1) drop_batch_axis(i);
    }
    for (int i = batch_axes - 2; i >= 0; --i) {
      BatchAxis &outer = batch[i], &inner = batch[i + 1];
      if (outer.a != inner.a * inner.size || outer.b != inner.b * inner.size || outer.c != inner.c * inner.size)
        continue;
      inner.size *= outer.size;
      drop_batch_axis(i);
    }
    for (int i = batch_axes - 1; i >= 0; --i) {
      const BatchAxis axis = batch[i];
      const bool goes_on =
          m > 1 ? axis.a == m * a.row && axis.c == m * c.row : axis.a >= k && axis.c >= n;  // of single rows
      if (axis.b != 0 || !goes_on) continue;
      if (m == 1) {
        a.row = axis.a;
        c.row = axis.c;
      }
      m *= axis.size;
      drop_batch_axis(i);
    }
  }

 private:
  static void settle(int64_t rows, int64_t columns, Matrix& x) {
    if (columns == 1) x.column = x.row == 1 ? rows : 1;
    if (rows == 1) x.row = x.column == 1 ? columns : 1;
  }
};

/// Whether the elements are rows or columns without gaps inside, as libraries want them.
inline bool is_library_matrix(const Matrix& x, int64_t rows, int64_t columns) {
  return (x.column == 1 && x.row >= columns) || (x.row == 1 && x.column >= rows);
}

/// A product as cuBLASLt is asked for it, in its column-major terms: D (rows x columns) = op(A) op(B), where A is the b
/// of the row-major product and B its a. Made of eight-byte words, so that its bytes are its value.
struct MatmulKey {
  enum Epilogue : uint8_t { kPlain, kBias, kBiasGrad };

  int64_t rows, columns, depth;
  int64_t a_step, b_step, d_step;  // leading dimensions
  int64_t batch, a_batch, b_batch, d_batch;
  uint8_t input, output;  // Dtypes
  uint8_t a_transposed, b_transposed;
  uint8_t epilogue;
  uint8_t tf32;
  uint16_t device;
  uint8_t alignment[4];  // base-2 logarithms of A, B, D and the bias, at most 8
  uint32_t reserved;     // 0
};
static_assert(sizeof(MatmulKey) == 12 * 8);

/// The base-2 logarithm of an address' alignment, at most 8: a library distinguishes no more than 256 bytes.
inline uint8_t alignment_of(const void* data) {
  return static_cast<uint8_t>(std::countr_zero(reinterpret_cast<uintptr_t>(data) | 256u));
}

/// The key of a product with at most one batch axis, all of whose matrices are is_library_matrix and whose c has unit
/// strides along its rows. `bias_grad`: where the column sums of op(a)'s transpose go, or null.
inline MatmulKey key_of(const MatrixProduct& p, const void* bias_grad, bool tf32, int device) {
  MatmulKey key = {};
  key.rows = p.n;
  key.columns = p.m;
  key.depth = p.k;
  // A column-major matrix of n x k has unit strides along n; of its transpose, along k. Where both hold, the one whose
  // columns are further apart is what the array is.
  key.a_transposed = !(p.b.column == 1 && p.b.row >= p.n);
  key.b_transposed = !(p.a.column == 1 && p.a.row >= p.k);
  key.a_step = key.a_transposed ? p.b.column : p.b.row;
  key.b_step = key.b_transposed ? p.a.column : p.a.row;
  key.d_step = p.c.row;
  key.batch = 1;
  if (p.batch_axes == 1) {
    key.batch = p.batch[0].size;
    key.a_batch = p.batch[0].b;
    key.b_batch = p.batch[0].a;
    key.d_batch = p.batch[0].c;
  }
  key.input = static_cast<uint8_t>(p.a.dtype);
  key.output = static_cast<uint8_t>(p.c.dtype);
  key.tf32 = tf32 && p.a.dtype == Dtype::float32;
  key.device = static_cast<uint16_t>(device);
  const void* const vector = bias_grad != nullptr ? bias_grad : p.bias;
  key.epilogue =
      bias_grad != nullptr ? MatmulKey::kBiasGrad : (p.bias != nullptr ? MatmulKey::kBias : MatmulKey::kPlain);
  key.alignment[0] = alignment_of(p.b.data);
  key.alignment[1] = alignment_of(p.a.data);
  key.alignment[2] = alignment_of(p.c.data);
  key.alignment[3] = vector != nullptr ? alignment_of(vector) : 8;
  return key;
}

}  // namespace kusari::cuda
