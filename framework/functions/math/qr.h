#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What qr gives: a = q r.
struct QrFactors {
  Variable q;  ///< (..., m, k), its columns orthonormal
  Variable r;  ///< (..., k, n), upper triangular
};

/// The thin QR decomposition.
/// a: (..., m, n), floating; k is min(m, n). Returns both in a's dtype, half types computed in float32; NaN for a
/// matrix that holds NaN or infinite numbers. Throws TypeError if a is not such an array. Differentiable to any order
/// where the first k columns of a are linearly independent; the gradient throws ValueError where they are not and r
/// shows it, on a GPU it is NaN. The sign of a column of q and its row of r is the backend's choice. torch.linalg.qr;
/// numpy.linalg.qr's complete decomposition is xp::qr's.
KUSARI_API QrFactors qr(const Variable& a);

}  // namespace kusari::functions
