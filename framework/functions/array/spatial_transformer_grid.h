#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Points of a warped image: grid[n, :, i, j] = theta[n] (x_j, y_i, 1), where x and y run from -1 to 1 in equal steps
/// along the width and the height of the output.
/// theta: (N, 2, 3), floating. output_shape: (h, w), positive. Returns grid: (N, 2, h, w) of theta's dtype, horizontal
/// coordinates first, as spatial_transformer_sampler takes it. Throws TypeError when theta does not fit, ValueError for
/// an output_shape that is not two positive numbers. Differentiable to any order. Jaderberg et al. 2015,
/// https://arxiv.org/abs/1506.02025; chainer.functions.spatial_transformer_grid.
KUSARI_API Variable spatial_transformer_grid(const Variable& theta, const Dims& output_shape);

}  // namespace kusari::functions
