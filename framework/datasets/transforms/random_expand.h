#pragma once

#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/bbox.h"

namespace kusari::datasets::transforms {

/// Lays an image at a random place on a canvas that is larger by a factor, uniform in [1, max_ratio], on each side.
/// fill: the canvas's value, one for all channels or one for each. probability: of doing so at all.
/// Throws ValueError for a max_ratio below 1 or not finite, a probability outside of [0, 1], and a fill of another
/// length, or outside of [0, 255] for an image of uint8. chainercv.transforms.random_expand; Liu et al. 2016 (SSD),
/// with the mean as fill and probability 1/2.
struct KUSARI_API RandomExpand {
  double max_ratio = 4;
  std::vector<double> fill = {0};
  double probability = 1;
  Array operator()(const Array& image, ExampleRandom& random) const;
  /// The boxes with it.
  BoxedImage operator()(const BoxedImage& boxed, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
