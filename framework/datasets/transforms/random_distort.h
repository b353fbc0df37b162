#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Changes the colours of an RGB image, values 0 .. 255, each step with probability 1/2: brightness (a sum), then
/// contrast (a factor), saturation (a factor) and hue (degrees; contrast last in half of the cases), uniform in these
/// ranges. Between steps values are cut to 0 .. 255. In float32, rounded at the end for uint8, where ChainerCV has
/// OpenCV round to 8 bits at each step. Throws ValueError for another number of channels, and for ranges that are not
/// finite, turned around, or negative. chainercv.links.model.ssd.random_distort; Liu et al. 2016 (SSD).
struct KUSARI_API RandomDistort {
  double brightness_delta = 32;
  double contrast_low = 0.5;
  double contrast_high = 1.5;
  double saturation_low = 0.5;
  double saturation_high = 1.5;
  double hue_delta = 36;
  Array operator()(const Array& image, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
