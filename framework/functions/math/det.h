#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The determinants of matrices.
/// a: (..., n, n), floating. Returns (...), a scalar for one matrix, in a's dtype, half types computed in float32; NaN
/// for a matrix that holds NaN. Throws TypeError if a is not such an array. Differentiable to the second order, and to
/// any order where a is not singular: the third derivative needs its inverse. chainer.functions.det, which takes one
/// matrix.
KUSARI_API Variable det(const Variable& a);

/// The determinants of several matrices.
/// a: (m, n, n), floating. Returns (m); otherwise as det. chainer.functions.batch_det.
KUSARI_API Variable batch_det(const Variable& a);

}  // namespace kusari::functions
