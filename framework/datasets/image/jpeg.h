#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/datasets/image/decode.h"

namespace kusari::datasets {

/// decode_image for JPEG, not turned upright: options.window is one of the image as it lies in the file. `where` begins
/// the messages of IoErrors.
Array decode_jpeg(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& where);

}  // namespace kusari::datasets
