#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// How an image must be turned to stand upright, 1 .. 8 as in EXIF's tag Orientation (CIPA DC-008, 4.6.4): found in the
/// APP1 segment of a JPEG file or the eXIf chunk of a PNG file. 1, as it is, when there is no such tag or no sense in
/// it.
int jpeg_orientation(std::span<const uint8_t> bytes);
int png_orientation(std::span<const uint8_t> bytes);

}  // namespace kusari::datasets
