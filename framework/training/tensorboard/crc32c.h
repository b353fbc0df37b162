#pragma once

#include <cstdint>
#include <string_view>

#include "kusari/framework/core/export.h"

namespace kusari::training::tensorboard {

/// CRC-32C (Castagnoli), RFC 3720, section 12.1.
KUSARI_API uint32_t crc32c(std::string_view data) noexcept;
/// The same as records of event files hold it: rotated, plus a constant, so that a CRC of data with CRCs is none.
KUSARI_API uint32_t masked_crc32c(std::string_view data) noexcept;

}  // namespace kusari::training::tensorboard
