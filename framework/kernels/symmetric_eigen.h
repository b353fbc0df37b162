#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// a = vectors diag(values) vectors^T, values ascending. a: (..., n, n), symmetric, floating; values: (..., n);
/// vectors: (..., n, n), one in each column. Any strides; on the CPU computed in float64. A matrix that holds NaN
/// gives NaN.
struct SymmetricEigen {
  static constexpr const char* kName = "symmetric_eigen";
  using Signature = void(In a, Out values, Out vectors);
};

}  // namespace kusari::kernels
