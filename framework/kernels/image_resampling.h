#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// How new pixels are made of old ones: the nearest one; or a weighted mean, over a triangle as wide as two pixels
/// (bilinear), over the pixel's area (box), or over a cubic piecewise polynomial as wide as four pixels that is
/// negative in places (bicubic; Keys 1981, a = -1/2). Pixels are old or new ones, whichever are larger, so that every
/// old pixel counts where an image shrinks.
enum class Interpolation : uint8_t { nearest, bilinear, box, bicubic };

/// An image of another size, as Pillow's Image.resize makes it: uint8 by integer arithmetic, rounded after each axis,
/// the width first, to the bit as Pillow 10, 11 and 12; Pillow 13 takes the height first where that is less work, which
/// rounds differently. Where the nearest pixel is one of two equally near ones, Pillow's own rounding decides otherwise
/// now and then. float32 in float32. image: (C, H, W), uint8 or float32, on the CPU, not empty, whose
/// memory is rows of pixels: strides (1, any, C). height, width: at least 1. Returns (C, height, width) of the same
/// dtype, channels innermost in memory.
KUSARI_API Array resample_image(const Array& image, int64_t height, int64_t width, Interpolation interpolation);

}  // namespace kusari
