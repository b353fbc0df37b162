#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What slogdet gives: det(a) = sign exp(log).
struct SignedLog {
  Variable sign;  ///< -1, 0 or 1; has no gradient
  Variable log;   ///< -inf for a singular matrix
};

/// The sign of the determinant and the logarithm of its size, which does not leave the dtype's range.
/// a: (..., n, n), floating. Returns (...) each, in a's dtype, half types computed in float32; NaN for a matrix that
/// holds NaN. Throws TypeError if a is not such an array. log is differentiable to any order; its gradient throws
/// ValueError for a singular matrix, on a GPU it is NaN. numpy.linalg.slogdet, torch.linalg.slogdet.
KUSARI_API SignedLog slogdet(const Variable& a);

}  // namespace kusari::functions
