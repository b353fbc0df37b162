#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/kernels/roi.h"

// What the functions of regions of interest share. `call` is the one that a user called, "F::roi_max_pooling_2d".
namespace kusari::functions {

/// The options as the kernels want them. Throws ValueError when one is out of range.
KUSARI_API kernels::Roi make_roi(const char* call, kernels::RoiKind kind, const PerAxis& outsize, double spatial_scale,
                                 const PerAxis& sampling_ratio = 0);

/// The regions' bins. rois: (R, 4), rows (y_min, x_min, y_max, x_max), and roi_indices: (R) of integers; or, without
/// roi_indices, (R, 5), rows (image, x_min, y_min, x_max, y_max).
KUSARI_API Variable roi_bins(const char* call, const kernels::Roi& roi, const Variable& x, const Variable& rois,
                             const Variable& roi_indices);

}  // namespace kusari::functions
