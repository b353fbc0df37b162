#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What eigh gives: a = vectors diag(values) vectors^T.
struct EigenFactors {
  Variable values;   ///< (..., n), from the smallest
  Variable vectors;  ///< (..., n, n), one in each column
};

/// The eigenvalues and eigenvectors of symmetric matrices.
/// a: (..., n, n), floating; its lower triangle alone is read. Returns both in a's dtype, half types computed in
/// float32; NaN for a matrix that holds NaN or infinite numbers. Throws TypeError if a is not such an array.
/// Differentiable to any order; the gradient is symmetric, that of a symmetric a. A gradient that comes through the
/// vectors is not finite where two eigenvalues are equal, and so is the second derivative of the values there: their
/// vectors may be turned at will. For the same reason a vector's sign is arbitrary, and what is computed should not
/// depend on it. numpy.linalg.eigh, torch.linalg.eigh.
KUSARI_API EigenFactors eigh(const Variable& a);

}  // namespace kusari::functions
