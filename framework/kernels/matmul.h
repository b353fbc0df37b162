#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// Which of the two matrices are read with their last two axes exchanged.
struct MatmulOptions {
  bool transa = false;
  bool transb = false;
};

/// c = op(a) op(b) + bias. op(a): (..., m, k), op(b): (..., k, n), c: (..., m, n), each with two axes or more; a and b
/// broadcast to c's leading axes. bias: (n) or undefined. Any strides and any dtypes: the arithmetic is in float64 if
/// an operand or c is float64, else in float32 (bfloat16 products, summed in float32, if all are bfloat16) if any is
/// floating, else in int64. Each element of c is the same bits whatever the number of threads.
struct Matmul {
  static constexpr const char* kName = "matmul";
  using Signature = void(In a, In b, In bias, Params<MatmulOptions> options, Out c);
};

/// c = op(a) op(b), and sums[i] = the sum of row i of op(a): of a linear layer's y = x W^T + b, the gradients of W and
/// b from gy^T and x. Two axes each, sums: (m); otherwise as Matmul.
struct MatmulWithSums {
  static constexpr const char* kName = "matmul_with_sums";
  using Signature = void(In a, In b, Params<MatmulOptions> options, Out c, Out sums);
};

}  // namespace kusari::kernels
