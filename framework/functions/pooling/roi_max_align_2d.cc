#include "kusari/framework/functions/pooling/roi_max_align_2d.h"

#include <limits>

#include "kusari/framework/functions/pooling/roi.h"

namespace kusari::functions {

Variable roi_max_align_2d(const Variable& x, const Variable& rois, const Variable& roi_indices, const PerAxis& outsize,
                          double spatial_scale, const PerAxis& sampling_ratio) {
  const char* const call = "F::roi_max_align_2d";
  kernels::Roi roi = make_roi(call, kernels::RoiKind::max_align, outsize, spatial_scale, sampling_ratio);
  roi.value_of_nothing = -std::numeric_limits<double>::infinity();
  return roi_bins(call, roi, x, rois, roi_indices);
}

}  // namespace kusari::functions
