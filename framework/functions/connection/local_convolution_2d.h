#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

struct LocalConvolution2DOptions {
  PerAxis stride = 1;
};

/// Convolution with weights of its own at each place: y[n, o, i, j] = sum over c, a, d of
/// x[n, c, stride i + a, stride j + d] W[o, i, j, c, a, d] + b[o, i, j].
/// x: (N, C, H, W), floating. W: (O, h, w, C, kh, kw), floating, h = floor((H - kh) / stride) + 1 and likewise w.
/// b: (O, h, w) of x's dtype, or undefined. Returns y: (N, O, h, w) of x's dtype; sums are in float32 at least. Throws
/// TypeError when shapes or dtypes do not fit, ValueError for an option out of range. Differentiable to any order.
/// chainer.functions.local_convolution_2d.
KUSARI_API Variable local_convolution_2d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                         const LocalConvolution2DOptions& options = {});

}  // namespace kusari::functions
