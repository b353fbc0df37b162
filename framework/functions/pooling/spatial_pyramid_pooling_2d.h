#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Max pooling to 1x1, 2x2, 4x4, .. bins, all flattened into one vector whose length does not depend on the image.
/// x: (N, C, H, W), floating. pyramid_height: number of levels, at least 1. pooling: "max", the only kind.
/// Returns y: (N, C (1 + 4 + 16 + ..), 1, 1) in x's dtype.
/// Throws TypeError when x is not floating or has other axes, ValueError for other arguments.
/// Differentiable to any order. He et al. 2014; chainer.functions.spatial_pyramid_pooling_2d.
KUSARI_API Variable spatial_pyramid_pooling_2d(const Variable& x, int64_t pyramid_height,
                                               const std::string& pooling = "max");

}  // namespace kusari::functions
