#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Solutions of linear equations: x with a x = b.
/// a: (..., n, n), floating. b: (..., n, m), several right-hand sides in its columns, or one vector (n), in a's dtype.
/// Leading axes broadcast. Returns x: (..., n, m), or (..., n) for a vector, half types computed in float32. Throws
/// TypeError if shapes or dtypes do not fit, ValueError if a matrix is singular; on a GPU its x is NaN then, as it is
/// for a matrix that holds NaN. Differentiable to any order. numpy.linalg.solve, torch.linalg.solve.
KUSARI_API Variable solve(const Variable& a, const Variable& b);

}  // namespace kusari::functions
