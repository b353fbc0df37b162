#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/bbox.h"

namespace kusari::datasets::transforms {

/// A random window that shows enough of the boxes: for each of `constraints`, {least, most}, up to max_trial windows
/// are drawn until the IoU of the window with every box is in that range; then one of those found, or the whole image,
/// is taken at random. Boxes whose centre lies outside are left out. An image without boxes stays whole. Throws
/// ValueError for options out of range. chainercv.links.model.ssd.random_crop_with_bbox_constraints, whose windows
/// never touch the lower and right border; Liu et al. 2016 (SSD).
struct KUSARI_API RandomBoxCrop {
  double min_scale = 0.3;  ///< a window's sides, as parts of the image's, before the proportion
  double max_scale = 1;
  double max_aspect_ratio = 2;
  std::vector<std::array<double, 2>> constraints = {{0.1, 1}, {0.3, 1}, {0.5, 1}, {0.7, 1}, {0.9, 1}, {0, 1}};
  int64_t max_trial = 50;

  Window window(const BoxedImage& boxed, ExampleRandom& random) const;
  BoxedImage operator()(const BoxedImage& boxed, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
