#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What svd gives: a = u diag(s) vt.
struct SingularFactors {
  Variable u;   ///< (..., m, k), its columns orthonormal
  Variable s;   ///< (..., k), from the largest
  Variable vt;  ///< (..., k, n), its rows orthonormal
};

/// The thin singular value decomposition.
/// a: (..., m, n), floating; k is min(m, n). Returns all in a's dtype, half types computed in float32; NaN for a matrix
/// that holds NaN or infinite numbers. Throws TypeError if a is not such an array. Differentiable to any order. A
/// gradient that comes through u or vt is not finite where two singular values are equal, or one is 0 and m is not n,
/// and so is the second derivative of s there: these vectors may be turned at will. For the same reason the sign of a
/// column of u and its row of vt is arbitrary, and what is computed should not depend on it. torch.linalg.svd with
/// full_matrices=False; numpy.linalg.svd's full matrices are xp::svd's.
KUSARI_API SingularFactors svd(const Variable& a);

}  // namespace kusari::functions
