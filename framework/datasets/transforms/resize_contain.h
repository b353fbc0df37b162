#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/bbox.h"
#include "kusari/framework/datasets/transforms/resize.h"

namespace kusari::datasets::transforms {

/// Resizes an image so that it lies within `size`, its sides in proportion, and fills the rest: an image of exactly
/// `size`. Sides are rounded down, and at least 1. fill: one value, or one for each channel.
/// Without options as chainercv.transforms.resize_contain; EfficientDet's is {.size, .enlarge = true, .centre = false}.
/// Throws ValueError for a size below 1, an empty image, and a fill of another length, or outside of [0, 255] for an
/// image of uint8.
struct KUSARI_API ResizeContain {
  Size size;
  std::vector<double> fill = {0};
  Interpolation interpolation = Interpolation::bilinear;
  bool enlarge = false;  ///< images that are smaller grow
  bool centre = true;    ///< in the middle; false: at the upper left

  /// Where an image of that size comes to lie.
  Window place(const Size& image) const;
  Array operator()(const Array& image) const;
  /// The boxes with it.
  BoxedImage operator()(const BoxedImage& boxed) const;
};

}  // namespace kusari::datasets::transforms
