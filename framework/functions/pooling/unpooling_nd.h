#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of unpooling_nd, its relatives and upsampling_2d.
struct UnpoolingOptions {
  PerAxis stride = {};    ///< none: the window's size
  PerAxis pad = 0;        ///< places of the result that are cut off at each end
  Dims outsize = {};      ///< spatial sizes of y; none: from those of x
  bool cover_all = true;  ///< the pooling whose inverse this is covered all places
};

/// Spreads each element over a window, and sums where windows overlap:
/// y[n, c, i] = the sum of x[n, c, o] over the windows o with i = stride o - pad + k, 0 <= k < ksize.
/// x: (N, C, in...), floating, with one or more spatial axes (unpooling_1d, _2d, _3d: as many as the name says).
/// ksize: the window. Returns y: (N, C, out...) in x's dtype; out is outsize, or else stride (in - 1) + ksize - 2 pad,
/// less stride - 1 with cover_all.
/// Throws TypeError when x is not floating, has other axes or is not what pooling of outsize gives, ValueError when a
/// size does not fit. Differentiable to any order. chainer.functions.unpooling_nd.
KUSARI_API Variable unpooling_nd(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options = {});
KUSARI_API Variable unpooling_1d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options = {});
KUSARI_API Variable unpooling_2d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options = {});
KUSARI_API Variable unpooling_3d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options = {});

}  // namespace kusari::functions
