#include "kusari/framework/functions/pooling/roi_pooling_2d.h"

#include "kusari/framework/functions/pooling/roi.h"

namespace kusari::functions {

Variable roi_pooling_2d(const Variable& x, const Variable& rois, const RoiPoolingOptions& options) {
  const char* const call = "F::roi_pooling_2d";
  kernels::Roi roi = make_roi(call, kernels::RoiKind::max_pooling, {options.outh, options.outw}, options.spatial_scale);
  roi.includes_last_pixel = true;
  return roi_bins(call, roi, x, rois, Variable());
}

}  // namespace kusari::functions
