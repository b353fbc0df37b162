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

}  // namespace kusari::kernels
