#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// `n_ops` random operations one after the other, each one of 14: none, AutoContrast, Equalize, Rotate, Solarize,
/// Color, Posterize, Contrast, Brightness, Sharpness, and along x or y a shear or a translation. With s = magnitude /
/// 30 they turn by 30 s degrees, shear by 0.3 s, move by 150 / 331 s of the side, change factors by 0.9 s, all in a
/// random direction; they posterize to 8 - 4 s bits and solarize from 255 (1 - s). New pixels are `fill`. Images have 1
/// or 3 channels, values 0 .. 255. Throws ValueError for n_ops outside of 0 .. 100, a magnitude outside of 0 .. 30, and
/// another number of channels. Cubuk et al. 2020; torchvision.transforms.RandAugment has the same ranges.
struct KUSARI_API RandAugment {
  int n_ops = 2;         ///< operations on each image
  double magnitude = 9;  ///< how strong they are, 0 .. 30
  double fill = 0;       ///< value of pixels from outside
  Array operator()(const Array& image, ExampleRandom& random) const;
};

}  // namespace kusari::datasets::transforms
