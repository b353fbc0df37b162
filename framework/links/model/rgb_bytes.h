#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::links {

/// An image as (3, H, W) bytes, red first, channels innermost in memory, on the CPU. image: (H, W), (H, W, C) or
/// (C, H, W) with 1 (grey), 3 (RGB) or 4 (RGBA, alpha dropped) channels; any dtype, with values 0 .. 255 that are
/// truncated to integers. It may share the image's memory. Throws ValueError naming `call` for another shape or an
/// empty image.
KUSARI_API Array rgb_bytes(const char* call, const Array& image);

}  // namespace kusari::links
