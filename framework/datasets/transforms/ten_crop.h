#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms {

/// Ten crops of an image: upper left, upper right, lower left, lower right, middle, and the same five mirrored.
/// Returns a new array (10, C, height, width) with channels innermost in memory, a batch for a model.
/// Throws ValueError when the image is smaller. Krizhevsky et al. 2012; chainercv.transforms.ten_crop.
struct KUSARI_API TenCrop {
  Size size;
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
