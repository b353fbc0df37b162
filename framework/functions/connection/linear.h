#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of linear.
struct LinearOptions {
  int n_batch_axes = 1;  ///< how many of x's first axes are a batch; the others are flattened to one
};

/// Affine map of vectors: y = x W^T + b.
/// x: (batch axes..., input axes...), floating. W: (M, K), floating, K the product of x's input axes. b: (M) of x's
/// dtype, or undefined. Returns y: (batch axes..., M) in x's dtype, whatever W's; sums are in float32 at least.
/// Throws TypeError when the sizes do not fit, ValueError when n_batch_axes is below 1 or above x's number of axes.
/// Differentiable to any order. chainer.functions.linear.
KUSARI_API Variable linear(const Variable& x, const Variable& W, const Variable& b = Variable(),
                           const LinearOptions& options = {});

}  // namespace kusari::functions
