#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"
#include "kusari/framework/kernels/image_resampling.h"

namespace kusari::datasets::transforms {

using kusari::Interpolation;

/// An image of another size, as Pillow's Image.resize makes it (resample_image says how closely): uint8 images by
/// integer arithmetic, rounded after each axis, float32 images in float32. Returns a new image, or the image itself
/// when it has that size. Throws ValueError for a size below 1 and for an empty image.
/// chainercv.transforms.resize.
struct KUSARI_API Resize {
  Size size;
  Interpolation interpolation = Interpolation::bilinear;
  Array operator()(const Array& image) const;
};

/// An image whose shorter side is `size` and whose other side is in proportion, rounded down. Otherwise as Resize.
/// chainercv.transforms.scale.
struct KUSARI_API Scale {
  int64_t size;
  Interpolation interpolation = Interpolation::bilinear;
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
