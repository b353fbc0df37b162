#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// Writes an image to a PNG file, which appears whole or not at all.
/// image: (H, W) or (1, H, W), grey, or (3, H, W), RGB, not empty; uint8, or floating with 0 black and 1 white, rounded
/// to 255 steps, where what lies outside is drawn as the nearer of the two, NaN as black. Throws TypeError for another
/// dtype, ValueError for another shape, IoError when the file cannot be written.
KUSARI_API void save_png(const std::string& path, const Array& image);

/// The bytes that save_png writes.
KUSARI_API std::string encode_png(const Array& image);

}  // namespace kusari::datasets
