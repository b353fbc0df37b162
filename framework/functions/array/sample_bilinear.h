#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Images read between their pixels, the core of spatial_transformer_sampler and of deformable convolution:
/// y[n, :, i, j] = x at column points[n, 0, i, j] and row points[n, 1, i, j], counted in pixels from the centre of the
/// first one, bilinear between four pixels and 0 outside of x.
/// x: (N, C, H, W), floating. points: (N, 2, h, w), float64 for x of float64, else float32. Returns y: (N, C, h, w) of
/// x's dtype, channels-last in memory. Differentiable to any order; the slope at a pixel is that towards higher
/// coordinates.
KUSARI_API Variable sample_bilinear(const Variable& x, const Variable& points);

}  // namespace kusari::functions
