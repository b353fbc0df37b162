#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"

namespace kusari::datasets {

/// An image without content: (channels, height, width) uint8, channels innermost in memory.
Array empty_image(int64_t channels, int64_t height, int64_t width);

/// Of an RGB image, (1, H, W): 0.299 R + 0.587 G + 0.114 B, rounded as libjpeg does it.
Array rgb_to_grey(const Array& image);

/// Turns an image upright; orientation: EXIF's, 1 .. 8. The image itself for 1.
Array upright(const Array& image, int orientation);

}  // namespace kusari::datasets
