#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The lower triangular matrix y with y y^T = a.
/// a: (..., n, n), floating, symmetric and positive definite; its lower triangle alone is read. Returns y: (..., n, n)
/// in a's dtype, half types computed in float32. Throws TypeError if a is not such an array, ValueError if a matrix is
/// not positive definite; on a GPU its y is NaN then. Differentiable to any order; the gradient is symmetric, that of a
/// symmetric a. chainer.functions.cholesky, which takes one matrix.
KUSARI_API Variable cholesky(const Variable& a);

}  // namespace kusari::functions
