#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of roi_pooling_2d; Chainer has no defaults for them.
struct RoiPoolingOptions {
  int64_t outh = 0;          ///< bins along the height
  int64_t outw = 0;          ///< bins along the width
  double spatial_scale = 1;  ///< pixels of x per unit of a region's coordinates
};

/// Max pooling of regions of interest, each cut into outh x outw bins; a region's corners are rounded to pixels of x,
/// and both belong to it.
/// x: (N, C, H, W), floating. rois: (R, 5) of x's dtype, or float32 beside a 16-bit x, rows (image, x_min, y_min,
/// x_max, y_max).
/// Returns y: (R, C, outh, outw) in x's dtype; a bin outside x gives 0.
/// Throws TypeError when the shapes or dtypes do not fit, ValueError for other arguments, IndexError for an image that
/// x does not have. Differentiable to any order in x, not in rois.
/// Girshick 2015 (Fast R-CNN); chainer.functions.roi_pooling_2d.
KUSARI_API Variable roi_pooling_2d(const Variable& x, const Variable& rois, const RoiPoolingOptions& options);

}  // namespace kusari::functions
