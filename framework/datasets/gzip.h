#pragma once

#include <cstddef>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// The content of a file, decompressed when it is a gzip file. Throws IoError, naming the file, when it cannot be read,
/// is damaged or cut off (length and CRC-32 are checked), or has more than `max_size` bytes of content.
KUSARI_API std::string read_maybe_gzip(const std::string& path, size_t max_size = size_t{1} << 34);

}  // namespace kusari::datasets
