#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// The content of a file, decompressed when it is a gzip file. Throws IoError, naming the file, when it cannot be read,
/// is damaged or cut off (length and CRC-32 are checked), has more than `max_size` bytes of content or more than there
/// is memory for.
KUSARI_API std::string read_maybe_gzip(const std::string& path, size_t max_size = size_t{1} << 34);
/// The same where the first `head_size` bytes tell how many there are: size_of(head) gives the most that are read.
KUSARI_API std::string read_maybe_gzip(const std::string& path, size_t head_size,
                                       const Callable<size_t(std::string_view head)>& size_of);

}  // namespace kusari::datasets
