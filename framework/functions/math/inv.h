#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The inverse of a matrix.
/// a: (n, n), floating. Returns its inverse in a's dtype, half types computed in float32. Throws TypeError if a is not
/// such an array, ValueError if it is singular; on a GPU the result is NaN then. Differentiable to any order.
/// chainer.functions.inv.
KUSARI_API Variable inv(const Variable& a);

/// The inverses of several matrices.
/// a: (m, n, n), floating; otherwise as inv. chainer.functions.batch_inv.
KUSARI_API Variable batch_inv(const Variable& a);

}  // namespace kusari::functions
