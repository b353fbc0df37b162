#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/linear_algebra.h"

// Decompositions of matrices of any shape, floating, any strides. On the CPU computed in float64. Matrices that
// hold NaN or infinite numbers give NaN.
namespace kusari::kernels {

/// a = q r, q with orthonormal columns and r upper triangular (Householder). a: (..., m, n); q: (..., m, k) and
/// r: (..., k, n), k being min(m, n), or m for the complete decomposition.
struct QrDecomposition {
  static constexpr const char* kName = "qr_decomposition";
  using Signature = void(In a, Out q, Out r);
};

/// a = u diag(s) vt, s descending, u and vt^T with orthonormal columns. a: (..., m, n); s: (..., min(m, n)); u: (...,
/// m, k) and vt: (..., k, n), k being min(m, n), or m and n for the full matrices; both are undefined if nobody wants
/// them.
struct SingularValueDecomposition {
  static constexpr const char* kName = "singular_value_decomposition";
  using Signature = void(In a, Out u, Out s, Out vt);
};

/// x with a x = b. a: (..., n, n), x and b: (..., n, m), all of the same leading axes. A singular matrix throws
/// ValueError.
struct SolveLinear {
  static constexpr const char* kName = "solve_linear";
  using Signature = void(Params<MatrixCall> call, In a, In b, Out x);
};

/// sign and log of the absolute value of the determinants of a: (..., n, n); sign, log: (...). 0 and -inf for a
/// singular one.
struct LogDeterminant {
  static constexpr const char* kName = "log_determinant";
  using Signature = void(In a, Out sign, Out log);
};

}  // namespace kusari::kernels
