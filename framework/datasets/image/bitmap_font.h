#pragma once

#include <array>
#include <cstdint>

namespace kusari::datasets::detail {

inline constexpr int64_t kGlyphWidth = 5, kGlyphHeight = 8;

/// The columns of a character, whose bit 0 is the top row: 5 x 7 points as on character displays, and a row below for
/// what hangs. A filled box stands for what is not printable ASCII.
const std::array<uint8_t, 5>& glyph_of(char c);

}  // namespace kusari::datasets::detail
