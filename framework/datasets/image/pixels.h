#pragma once

#include "kusari/framework/core/array.h"

namespace kusari::datasets {

/// Of an RGB image, (1, H, W): 0.299 R + 0.587 G + 0.114 B, rounded as libjpeg does it.
Array rgb_to_grey(const Array& image);

/// Turns an image upright; orientation: EXIF's, 1 .. 8. The image itself for 1.
Array upright(const Array& image, int orientation);

}  // namespace kusari::datasets
