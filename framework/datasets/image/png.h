#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/datasets/image/decode.h"

namespace kusari::datasets {

/// decode_image for PNG, not yet turned upright. `where` begins the messages of IoErrors.
Array decode_png(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& where);

}  // namespace kusari::datasets
