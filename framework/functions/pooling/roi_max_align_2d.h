#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// The largest of bilinear samples in each bin of regions of interest, whose corners are not rounded.
/// x: (N, C, H, W), floating. rois: (R, 4) of x's dtype, or float32 beside a 16-bit x, rows (y_min, x_min, y_max,
/// x_max). roi_indices: (R) of integers, the image that each region is of. outsize: bins along height and width.
/// spatial_scale: pixels of x per unit of a region's coordinates. sampling_ratio: samples per bin along height and
/// width; 0: one per pixel.
/// Returns y: (R, C, bins...) in x's dtype; samples outside x are left out, and a bin outside x gives -inf.
/// Throws TypeError when the shapes or dtypes do not fit, ValueError for other arguments, IndexError for an image that
/// x does not have. Differentiable to any order in x, not in rois.
/// He et al. 2017 (Mask R-CNN); chainer.functions.roi_max_align_2d.
KUSARI_API Variable roi_max_align_2d(const Variable& x, const Variable& rois, const Variable& roi_indices,
                                     const PerAxis& outsize, double spatial_scale, const PerAxis& sampling_ratio = 0);

}  // namespace kusari::functions
