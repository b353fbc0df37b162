#pragma once

#include "kusari/framework/core/kernel.h"

// Decompositions of square matrices (..., n, n), floating, any strides. On the CPU computed in float64.
namespace kusari::kernels {

/// What an error names.
struct MatrixCall {
  const char* call;
};

/// y = the lower triangular matrix with y y^T = a. Reads a's lower triangle alone. On the CPU a matrix that is not
/// positive definite throws ValueError; elsewhere its y is NaN.
struct Cholesky {
  static constexpr const char* kName = "cholesky";
  using Signature = void(Params<MatrixCall> call, In a, Out y);
};

/// y = a^-1. On the CPU a singular matrix throws ValueError; elsewhere its y is NaN.
struct Inverse {
  static constexpr const char* kName = "inverse";
  using Signature = void(Params<MatrixCall> call, In a, Out y);
};

/// y = det(a): (...).
struct Determinant {
  static constexpr const char* kName = "determinant";
  using Signature = void(In a, Out y);
};

/// y = the matrix of cofactors of a, which is the gradient of its determinant; also of a singular a.
struct Cofactors {
  static constexpr const char* kName = "cofactors";
  using Signature = void(In a, Out y);
};

/// y = the gradient by a of sum(g * cofactors(a)), the second derivative of the determinant applied to g; also of a
/// singular a.
struct CofactorsGrad {
  static constexpr const char* kName = "cofactors_grad";
  using Signature = void(In a, In g, Out y);
};

}  // namespace kusari::kernels
