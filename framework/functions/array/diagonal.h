#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of diagonal.
struct DiagonalOptions {
  int64_t offset = 0;  ///< above the main diagonal, negative below it
  int64_t axis1 = 0;   ///< of the rows
  int64_t axis2 = 1;   ///< of the columns
};

/// Diagonals of the matrices that two axes make; a view.
/// x: any dtype, at least two axes. Negative axes count from the end. Returns the other axes in order, then the
/// elements (i, i + offset). Throws TypeError when x has fewer axes, IndexError for an axis that x does not have,
/// ValueError when the two are one.
/// Differentiable to any order. chainer.functions.diagonal.
KUSARI_API Variable diagonal(const Variable& x, const DiagonalOptions& options = {});

}  // namespace kusari::functions
