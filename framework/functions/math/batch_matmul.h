#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of batch_matmul.
struct BatchMatmulOptions {
  bool transa = false;  ///< read each matrix of a transposed
  bool transb = false;  ///< the same for b
};

/// Products of pairs of matrices: y[i] = a[i] b[i]. matmul does the same for more shapes.
/// a: (n, m, k), or (n, m): columns (n, m, 1). b: (n, k, l), or (n, k): columns (n, k, 1). Floating. Returns (n, m, l)
/// in NumPy's promotion of their dtypes. Throws TypeError when shapes or dtypes do not go together. Differentiable to
/// any order. chainer.functions.batch_matmul.
KUSARI_API Variable batch_matmul(const Variable& a, const Variable& b, const BatchMatmulOptions& options = {});

}  // namespace kusari::functions
