#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

struct LpPoolingOptions {
  PerAxis stride = {};     ///< none: the window's size
  PerAxis pad = 0;         ///< places before the first and behind the last; they count as zeros
  double p = 2;            ///< of the norm
  bool cover_all = false;  ///< one more window where the last ones would leave places out
};

/// The p-norm of each window: y[n, c, o] = (sum over k of |x[n, c, stride o - pad + k]|^p)^(1/p).
/// x: (N, C, in...), floating, with one or more spatial axes. ksize: the window. Returns y: (N, C, out...) in x's
/// dtype, out = (in + 2 pad - ksize) / stride + 1, rounded down, or up with cover_all; computed in float32 at least.
/// Throws TypeError when x is not floating or has other axes, ValueError when a size does not fit or p is not positive.
/// Differentiable to any order where the window is not all zeros. ONNX's LpPool.
KUSARI_API Variable lp_pooling_nd(const Variable& x, const PerAxis& ksize, const LpPoolingOptions& options = {});

}  // namespace kusari::functions
