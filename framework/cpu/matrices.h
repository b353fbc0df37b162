#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <Eigen/LU>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"

// What decompositions of matrices share. All are computed in float64, whatever the dtype of the arrays: results of
// float32 are right to their last digits, and Eigen's code, which takes long to compile, is there once.
namespace kusari::cpu {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix>;

/// The matrices in the last two axes of an array.
struct Matrices {
  Array array;  // float64, C-ordered
  int64_t count = 1, rows, columns;

  explicit Matrices(const Array& a) : array{a.astype(Dtype::float64).contiguous()} {
    rows = a.shape()[a.ndim() - 2];
    columns = a.shape()[a.ndim() - 1];
    for (int i = 0; i < a.ndim() - 2; ++i) count *= a.shape()[i];
  }
  MatrixMap at(int64_t i) const { return {array.data<double>() + i * rows * columns, rows, columns}; }
  bool all_finite(int64_t i) const { return rows == 0 || columns == 0 || at(i).allFinite(); }
};

/// A result in float64, which goes to its array at the end.
class MatrixResult {
 public:
  explicit MatrixResult(const Array& to)
      : to_{to}, array_{to.dtype() == Dtype::float64 && to.is_contiguous() ? to : empty(to.shape(), Dtype::float64)} {}
  void finish() const {
    if (!array_.is_same(to_)) to_.copy_from(array_);
  }
  const Array& array() const { return array_; }

 private:
  Array to_, array_;
};

/// Runs body(i) for each of `count` matrices of so much work and throws what the first one to fail throws.
template <class Body>
void for_each_matrix(int64_t count, int64_t work, const Body& body) {
  parallel_for(count, std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

/// Throws that matrix `i` of `count`, the argument `a` of the call, is `what`.
[[noreturn]] inline void throw_bad_matrix(const char* call, const char* what, int64_t i, int64_t count) {
  throw ValueError(std::string(call) + ": " + (count == 1 ? "a" : "matrix " + std::to_string(i) + " of a") + " is " +
                   what);
}

/// A square matrix, not empty, as P L U by partial pivoting.
class LuDecomposition {
 public:
  explicit LuDecomposition(const MatrixMap& a);

  auto pivots() const { return lu_.matrixLU().diagonal(); }
  bool is_singular() const { return (pivots().array() == 0).any(); }
  double permutation_sign() const { return static_cast<double>(lu_.permutationP().determinant()); }
  double determinant() const { return permutation_sign() * pivots().prod(); }
  Matrix inverse() const;
  /// x with a x = b.
  Matrix solve(const MatrixMap& b) const;

 private:
  Eigen::PartialPivLU<Matrix> lu_;
};

}  // namespace kusari::cpu
