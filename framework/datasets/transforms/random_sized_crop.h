#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/resize.h"

namespace kusari::datasets::transforms {

struct Range {
  double low;
  double high;
};

/// A random part of an image, resized to `size`: its share of the area is uniform in `scale`, the logarithm of its
/// ratio of width to height uniform in `aspect_ratio`, its place uniform. Where ten tries give no part that fits, the
/// largest one in the middle whose ratio is in range.
/// Throws ValueError for a size below 1, an empty image, and unless 0 < low <= high in both ranges.
/// Szegedy et al. 2015; chainercv.transforms.random_sized_crop.
struct KUSARI_API RandomSizedCrop {
  Size size;
  Range scale = {0.08, 1.0};
  Range aspect_ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation interpolation = Interpolation::bilinear;
  /// The part alone.
  Window window(const Array& image, ExampleRandom& random) const;
  /// In an image of that size.
  Window window(const Size& image, ExampleRandom& random) const;
  Array operator()(const Array& image, ExampleRandom& random) const {
    return Resize{size, interpolation}(Crop{window(image, random)}(image));
  }
};

}  // namespace kusari::datasets::transforms
