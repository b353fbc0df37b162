#pragma once

#include <cstdint>

namespace kusari {

/// Deflate codes at most 258 bytes in 2 bits.
inline constexpr int64_t kBestDeflateRatio = 1032;

}  // namespace kusari
