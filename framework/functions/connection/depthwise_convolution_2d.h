#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of depthwise_convolution_2d.
struct DepthwiseConvolutionOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
};

/// Each channel convolved by itself: channel c M + m of y is channel c of x convolved with W[m, c].
/// x: (N, C, H, W), floating. W: (M, C, kh, kw), floating. b: (C M) of x's dtype, or undefined. Returns y: (N, C M,
/// out_h, out_w) in x's dtype. Throws TypeError when shapes or dtypes do not fit, ValueError for an option out of range
/// or an empty output. Differentiable to any order. chainer.functions.depthwise_convolution_2d.
KUSARI_API Variable depthwise_convolution_2d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                             const DepthwiseConvolutionOptions& options = {});

}  // namespace kusari::functions
