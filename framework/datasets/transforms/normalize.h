#pragma once

#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// y = (x - mean[c]) / deviation[c], in units of the pixels: 127.5 and 127.5 take 0 .. 255 to -1 .. 1.
/// One number for all channels or one for each. Returns a new float32 image.
/// Throws ValueError for another count of numbers, and for a deviation of 0.
struct KUSARI_API Normalize {
  std::vector<double> mean = {0.0};
  std::vector<double> deviation = {1.0};
  Array operator()(const Array& image) const;
};

/// y = (x - mean) / deviation with a mean for every pixel, such as the mean image of a data set: float32, the shape of
/// the image. Returns a new float32 image. Throws TypeError when shape or dtype of the mean differ, ValueError for a
/// deviation of 0.
struct KUSARI_API SubtractMean {
  Array mean;
  double deviation = 1.0;
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
