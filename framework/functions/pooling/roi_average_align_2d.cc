#include "kusari/framework/functions/pooling/roi_average_align_2d.h"

#include "kusari/framework/functions/pooling/roi.h"

namespace kusari::functions {

Variable roi_average_align_2d(const Variable& x, const Variable& rois, const Variable& roi_indices,
                              const PerAxis& outsize, double spatial_scale, const PerAxis& sampling_ratio) {
  const char* const call = "F::roi_average_align_2d";
  return roi_bins(call, make_roi(call, kernels::RoiKind::average_align, outsize, spatial_scale, sampling_ratio), x,
                  rois, roi_indices);
}

}  // namespace kusari::functions
