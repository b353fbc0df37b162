#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Mirrors an image: left and right are exchanged (horizontal), top and bottom (vertical), or both.
/// Returns a new image, or the image itself when there is nothing to do. chainercv.transforms.flip.
struct KUSARI_API Flip {
  bool horizontal = true;
  bool vertical = false;
  Array operator()(const Array& image) const;
};

/// Mirrors an image, along each of the chosen axes with probability 1/2. chainercv.transforms.random_flip.
struct KUSARI_API RandomFlip {
  bool horizontal = true;
  bool vertical = false;
  Array operator()(const Array& image, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
