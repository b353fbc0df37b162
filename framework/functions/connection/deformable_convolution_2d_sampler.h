#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

struct DeformableConvolution2DSamplerOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
};

/// Convolution whose kernel elements are moved: y[n, o, i, j] = sum over c, k of W[o, c, k] x[n, c] at row
/// stride i + k_y - pad + offset_y and column stride j + k_x - pad + offset_x, bilinear between pixels and 0 outside of
/// x, + b[o].
/// x: (N, C, H, W), floating. offset: (N, 2 kh kw, h, w) of x's dtype: horizontal offsets of the kernel's elements,
/// then the vertical ones, in pixels. W: (O, C, kh, kw), floating. b: (O) of x's dtype, or undefined. Returns y: (N, O,
/// h, w) of x's dtype, channels-last in memory. Throws TypeError when shapes or dtypes do not fit, ValueError for an
/// option out of range. Differentiable to any order. Dai et al. 2017, https://arxiv.org/abs/1703.06211;
/// chainer.functions.deformable_convolution_2d_sampler.
KUSARI_API Variable deformable_convolution_2d_sampler(const Variable& x, const Variable& offset, const Variable& W,
                                                      const Variable& b = Variable(),
                                                      const DeformableConvolution2DSamplerOptions& options = {});

}  // namespace kusari::functions
