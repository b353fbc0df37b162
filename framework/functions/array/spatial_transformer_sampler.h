#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Images read at the points of a grid: y[n, :, i, j] = x at (grid[n, 0, i, j], grid[n, 1, i, j]), the horizontal and
/// the vertical coordinate, bilinear between four pixels and 0 outside of x. (-1, -1) is the first pixel's centre, (1,
/// 1) the last one's. x: (N, C, H, W), floating. grid: (N, 2, h, w) of x's dtype. Returns y: (N, C, h, w) of x's dtype,
/// channels-last in memory; coordinates are computed in float32 at least. Throws TypeError when shapes or dtypes do not
/// fit. Differentiable to any order. Jaderberg et al. 2015, https://arxiv.org/abs/1506.02025;
/// chainer.functions.spatial_transformer_sampler.
KUSARI_API Variable spatial_transformer_sampler(const Variable& x, const Variable& grid);

}  // namespace kusari::functions
