#include "kusari/framework/functions/pooling/roi_max_pooling_2d.h"

#include <limits>

#include "kusari/framework/functions/pooling/roi.h"

namespace kusari::functions {

Variable roi_max_pooling_2d(const Variable& x, const Variable& rois, const Variable& roi_indices,
                            const PerAxis& outsize, double spatial_scale) {
  const char* const call = "F::roi_max_pooling_2d";
  kernels::Roi roi = make_roi(call, kernels::RoiKind::max_pooling, outsize, spatial_scale);
  roi.value_of_nothing = -std::numeric_limits<double>::infinity();
  return roi_bins(call, roi, x, rois, roi_indices);
}

}  // namespace kusari::functions
