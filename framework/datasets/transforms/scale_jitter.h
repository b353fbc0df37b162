#pragma once

#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/bbox.h"
#include "kusari/framework/datasets/transforms/resize.h"

namespace kusari::datasets::transforms {

/// Resizes an image, its sides in proportion, to a random multiple of what just fits into `size`, uniform in
/// [min_scale, max_scale]; of one that is larger a window at a random place is taken, one that is smaller is filled
/// below and to the right: an image of exactly `size`. fill: one value, or one for each channel. Throws ValueError for
/// a size below 1, an empty image, a fill of another length or outside of [0, 255] for an image of uint8, and unless 0
/// < min_scale <= max_scale <= 100. How EfficientDet is trained, with 0.1 to 2; Ghiasi et al. 2021 (large scale
/// jitter).
struct KUSARI_API ScaleJitter {
  Size size;
  double min_scale = 0.1;
  double max_scale = 2;
  std::vector<double> fill = {0};
  Interpolation interpolation = Interpolation::bilinear;
  Array operator()(const Array& image, ExampleRandom& random) const;
  /// The boxes with it; of those that are cut the parts inside stay.
  BoxedImage operator()(const BoxedImage& boxed, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
