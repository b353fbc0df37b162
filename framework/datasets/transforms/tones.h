#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/transforms/image.h"

/// Changes of each value of an image by itself, as Pillow's ImageOps defines them for bytes; float32 images have values
/// 0 .. 255, too.
namespace kusari::datasets::transforms {

/// Stretches each channel: its least value becomes 0, its largest 255. Bytes are rounded down, float32 is not rounded.
/// A channel of one value stays. ImageOps.autocontrast.
struct KUSARI_API AutoContrast {
  Array operator()(const Array& image) const;
};

/// Makes the histogram of each channel as flat as a map of values allows. Values of float32 images are taken for the
/// nearest byte. A channel of one value, or of less than 255 others than the largest, stays. ImageOps.equalize.
struct KUSARI_API Equalize {
  Array operator()(const Array& image) const;
};

/// Keeps the upper bits of bytes, of which float32 values are taken for the nearest. Throws ValueError for a number of
/// bits outside of 1 .. 8. ImageOps.posterize.
struct KUSARI_API Posterize {
  int bits = 4;  ///< that stay of each value, 1 .. 8
  Array operator()(const Array& image) const;
};

/// Values x of `threshold` and above become 255 - x. Throws ValueError for a threshold that is NaN. ImageOps.solarize.
struct KUSARI_API Solarize {
  double threshold = 128;  ///< the least value that is changed
  Array operator()(const Array& image) const;
};

}  // namespace kusari::datasets::transforms
