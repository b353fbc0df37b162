#pragma once

#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// A weighted mean of maps and silu after it: y = silu(sum_i r_i x_i / (sum_j r_j + eps)), r = relu(w). Two and three
/// maps are one kernel each way, which keeps nothing but the maps; others are computed by several functions.
/// xs: maps of one shape, floating; of several dtypes they are converted to the widest. w: as many weights, floating.
/// eps: positive. Returns y: like the maps, channels-last in memory if one of them is. Computed in float32 at least,
/// the gradient of w too. Throws TypeError when shapes or dtypes do not fit, ValueError without maps or for an eps that
/// is not positive. Differentiable to any order.
/// Tan et al. 2020: the "fast normalized fusion" of EfficientDet.
KUSARI_API Variable normalized_fusion_silu(std::span<const Variable> xs, const Variable& w, double eps = 1e-4);

}  // namespace kusari::functions
