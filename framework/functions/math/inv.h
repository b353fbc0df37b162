#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The inverses of matrices.
/// a: (..., n, n), floating. Returns the inverses in a's dtype, half types computed in float32; NaN for a matrix that
/// holds NaN. Throws TypeError if a is not such an array, ValueError if a matrix is singular; on a GPU its inverse is
/// NaN then. Differentiable to any order. chainer.functions.inv, which takes one matrix.
KUSARI_API Variable inv(const Variable& a);

/// The inverses of several matrices.
/// a: (m, n, n), floating; otherwise as inv. chainer.functions.batch_inv.
KUSARI_API Variable batch_inv(const Variable& a);

}  // namespace kusari::functions
