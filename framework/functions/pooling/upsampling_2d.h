#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/functions/pooling/unpooling_nd.h"

namespace kusari::functions {

/// Puts each element back where max pooling took it from, and zeros elsewhere; several in one place are summed.
/// x: (N, C, H, W), floating. indexes: integers of x's shape, from max_pooling_2d_with_indices. ksize and the options
/// are those of that pooling; `outsize` is the size of its input, by default estimated as unpooling_2d does.
/// Returns y: (N, C, out_h, out_w) in x's dtype.
/// An index outside the window puts its element nowhere. Throws TypeError when the shapes do not fit, ValueError when a
/// size does not fit. Differentiable to any order. Badrinarayanan et al. 2015 (SegNet);
/// chainer.functions.upsampling_2d.
KUSARI_API Variable upsampling_2d(const Variable& x, const Array& indexes, const PerAxis& ksize,
                                  const UnpoolingOptions& options = {});

}  // namespace kusari::functions
