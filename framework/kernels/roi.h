#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

enum class RoiKind : int { max_pooling, average_pooling, max_align, average_align };

/// Regions of images, each cut into out[0] x out[1] bins (height, width). Pooling rounds a region's corners, half to
/// even, and takes every pixel of a bin; align takes bilinear samples inside it.
struct Roi {
  RoiKind kind = RoiKind::max_pooling;
  int64_t out[2] = {1, 1};
  double spatial_scale = 1;          ///< pixels per unit of the coordinates
  double least_size = 1;             ///< of a region of align in pixels: smaller ones are taken as that large
  int64_t sampling_ratio[2] = {};    ///< samples of align per bin; 0: one per pixel
  bool includes_last_pixel = false;  ///< the pixel that the second corner names belongs to a pooled region
  double value_of_nothing = 0;       ///< the maximum of a bin outside the image
  /// max_align takes the largest of the four weighted pixels of each sample, not their sum, as ONNX does: samples
  /// outside the image are 0 then, and argmax counts two places along each axis for a sample.
  bool by_pixel = false;
};

// x, gx: (N, C, H, W), y, gy, argmax: (R, C, out[0], out[1]). rois: (R, 4), rows (y_min, x_min, y_max, x_max).
// roi_indices: (R) of integers, the image of each region; IndexError for one that there is not, ValueError for a corner
// that is not finite; a device that cannot throw takes such a region for one outside the image. x, gx, y, gy and rois
// are floating, sums in float32 at least, argmax is int32: which pixel (h W + w) or sample of its bin (in C order) is
// the largest, -1 for none; undefined for averages. Any strides, channels-last is what is fast.

/// The result of each bin.
struct RoiForward {
  static constexpr const char* kName = "roi_forward";
  using Signature = void(Params<Roi> roi, In x, In rois, In roi_indices, Out y, Out argmax);
};

/// gx = the gradient of x.
struct RoiGrad {
  static constexpr const char* kName = "roi_grad";
  using Signature = void(Params<Roi> roi, In gy, In rois, In roi_indices, In argmax, Out gx);
};

/// y = the pixel or sample that argmax names, 0 for none: the gradient of RoiGrad for the maxima.
struct RoiPick {
  static constexpr const char* kName = "roi_pick";
  using Signature = void(Params<Roi> roi, In x, In rois, In roi_indices, In argmax, Out y);
};

}  // namespace kusari::kernels
