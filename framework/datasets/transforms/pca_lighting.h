#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Changes the light: adds one colour to all pixels, drawn along the principal axes of ImageNet's colours.
/// y = x + sum over k of a_k l_k v_k with a_k normal of deviation `sigma`, which is in units of the pixels: 0.1 for
/// images in 0 .. 1, 25.5 for those in 0 .. 255. Takes RGB images; uint8 ones are rounded and clipped to 0 .. 255.
/// Returns a new image, or the image itself when sigma is 0. Throws ValueError unless there are 3 channels, and for a
/// negative sigma. Krizhevsky et al. 2012; chainercv.transforms.pca_lighting.
struct KUSARI_API PcaLighting {
  double sigma;
  Array operator()(const Array& image, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
