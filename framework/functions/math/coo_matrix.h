#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::utils {

/// A sparse matrix, or several of one shape, by coordinates: element row[i], col[i] is data[i], and elements that are
/// named several times add up. For several matrices all arrays have a first axis more, and entries whose row and column
/// are -1 are not there, as one matrix may have fewer than another. chainer.utils.CooMatrix.
class KUSARI_API CooMatrix {
 public:
  /// data: (entries) or (matrices, entries), floating. row, col: the same shape, int32 or int64. shape: of one matrix,
  /// two sizes. Throws ValueError when shapes do not go together, TypeError for other dtypes, IndexError for a row or
  /// column that is not in the matrix, which is seen on the host and not in static graphs.
  CooMatrix(const Variable& data, const Array& row, const Array& col, const Shape& shape);

  const Variable& data() const noexcept { return data_; }
  const Array& row() const noexcept { return row_; }
  const Array& col() const noexcept { return col_; }
  const Shape& shape() const noexcept { return shape_; }
  bool is_batch() const noexcept { return row_.ndim() == 2; }
  /// (rows, columns) or (matrices, rows, columns). Differentiable to any order.
  Variable to_dense() const;

 private:
  Variable data_;
  Array row_, col_;
  Shape shape_;
};

/// The elements of x that are not zero, row by row.
/// x: (rows, columns) or (matrices, rows, columns), floating. ldnz: places for entries in each of several matrices; not
/// given, as many as the fullest has. requires_grad: of the data. Throws TypeError when x is no such array, ValueError
/// when a matrix has more entries than ldnz. chainer.utils.to_coo.
KUSARI_API CooMatrix to_coo(const Array& x, std::optional<int64_t> ldnz = std::nullopt, bool requires_grad = false);

}  // namespace kusari::utils
