#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Average pooling of regions of interest, each cut into bins; a region's corners are rounded to pixels of x.
/// x: (N, C, H, W), floating. rois: (R, 4) of x's dtype, or float32 beside a 16-bit x, rows (y_min, x_min, y_max,
/// x_max). roi_indices: (R) of integers, the image that each region is of. outsize: bins along height and width.
/// spatial_scale: pixels of x per unit of a region's coordinates.
/// Returns y: (R, C, bins...) in x's dtype; what lies outside x is left out, and a bin outside x gives 0.
/// Throws TypeError when the shapes or dtypes do not fit, ValueError for other arguments, IndexError for an image that
/// x does not have. Differentiable to any order in x, not in rois.
/// Girshick 2015 (Fast R-CNN); chainer.functions.roi_average_pooling_2d.
KUSARI_API Variable roi_average_pooling_2d(const Variable& x, const Variable& rois, const Variable& roi_indices,
                                           const PerAxis& outsize, double spatial_scale);

}  // namespace kusari::functions
