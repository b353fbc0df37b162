#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of the transposed convolutions.
struct DeconvolutionOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;    ///< elements of y cut off on both sides
  Dims outsize = {};  ///< y's spatial shape; empty: stride (in - 1) + dilated kernel - 2 pad
  PerAxis dilate = 1;
  int64_t groups = 1;
};

/// Transposed convolution, the gradient of a convolution with respect to its input: every x[n, c, p] is added, times
/// W[c, o, k], to y[n, o, stride p + dilate k - pad], and b[o] to all.
/// x: (N, C, in...), floating, with one or more spatial axes. W: (C, O / groups, kernel...), floating. b: (O) of x's
/// dtype, or undefined. Returns y: (N, O, out...) in x's dtype, whatever W's, channels-last in memory. Throws TypeError
/// when shapes or dtypes do not fit, ValueError for an option out of range, an empty output, or an outsize from which
/// the convolution would not lead back to x's shape. Differentiable to any order. chainer.functions.deconvolution_nd.
KUSARI_API Variable deconvolution_nd(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                     const DeconvolutionOptions& options = {});

/// deconvolution_nd for x: (N, C, length). chainer.functions.deconvolution_1d.
KUSARI_API Variable deconvolution_1d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                     const DeconvolutionOptions& options = {});

/// deconvolution_nd for x: (N, C, depth, H, W). chainer.functions.deconvolution_3d.
KUSARI_API Variable deconvolution_3d(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                     const DeconvolutionOptions& options = {});

}  // namespace kusari::functions
