#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// How resize_nd makes a new element: of the nearest old one, of two, or of four by a cubic polynomial.
enum class ResizeFilter : uint8_t { nearest, linear, cubic };

/// Where the new elements lie among the old ones. half_pixel: edges on edges; half_pixel_symmetric: the same, but the
/// middles on each other where a scale times a size is no integer; pytorch_half_pixel: like half_pixel, but a single
/// new element is the first old one; tf_half_pixel_for_nn: half an element behind half_pixel; align_corners: first and
/// last elements on each other; asymmetric: only the first; tf_crop_and_resize: like align_corners, from the part of x
/// that roi names.
enum class ResizeCoordinates : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize,
  tf_half_pixel_for_nn
};

/// Which element is the nearest to a place between two. Places are worked out in float32 up to 2^24 elements, and what
/// is within 1e-6 of the middle is there: ONNX Runtime's choices.
enum class NearestMode : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };

struct ResizeNdOptions {
  ByName by_name = {};
  Dims sizes = {};  ///< the new sizes of the axes; none: floor(scale * size)
  std::vector<double> scales =
      {};          ///< new size / old size; none: by the sizes. With both, scales say where elements lie
  Dims axes = {};  ///< what sizes, scales and roi are of; none: all axes, in order
  ResizeFilter mode = ResizeFilter::linear;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  NearestMode nearest_mode = NearestMode::round_prefer_floor;
  double cubic_coefficient = -0.75;  ///< a in Keys 1981
  bool exclude_outside = false;      ///< linear, cubic: what lies outside of x counts nothing; false: as the edge does
  double extrapolation_value = 0;    ///< tf_crop_and_resize: what lies outside of x becomes this
  bool antialias = false;            ///< linear, cubic: where x shrinks, every old element counts
  std::vector<double> roi = {};  ///< tf_crop_and_resize: where the part begins along each axis, 0 to 1, then the ends
};

/// An array of other sizes along any axes, one axis after the other: ONNX's Resize (opset 19).
/// x: any shape and dtype, floating unless mode is nearest; no resized axis empty. Returns x's dtype; computed in
/// float32 at least. Throws TypeError if x is not floating, ValueError when options do not fit x, IndexError for an
/// axis that x does not have. Differentiable to any order.
KUSARI_API Variable resize_nd(const Variable& x, const ResizeNdOptions& options);

}  // namespace kusari::functions
