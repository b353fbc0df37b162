#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::links {

/// How a model wants its images: y = (x - mean) / deviation for each channel, x in 0 .. 255. The numbers are in the
/// order in which the model takes the channels.
struct ImagePreparation {
  int64_t size = 224;  ///< height and width
  bool bgr = false;    ///< blue first, as Caffe's models have it
  std::array<double, 3> mean = {0, 0, 0};
  std::array<double, 3> deviation = {1, 1, 1};
};

/// An image as a vision model takes it: converted to three channels, resized by bicubic interpolation (as Pillow does
/// it), shifted and scaled.
/// image: (H, W), (H, W, C) or (C, H, W) with 1 (grey), 3 (RGB) or 4 (RGBA, alpha dropped) channels; any dtype, with
/// values 0 .. 255 that are truncated to integers. size: (height, width) or one number for both; nullopt keeps the
/// image's. Returns (3, height, width) of config.dtype on the CPU, channels innermost in memory. Throws ValueError for
/// another shape, an empty image or a size below 1. chainer.links.model.vision.vgg.prepare.
KUSARI_API Array prepare(const Array& image, const ImagePreparation& preparation, const std::optional<PerAxis>& size);

}  // namespace kusari::links
