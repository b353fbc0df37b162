#pragma once

#include <cstdint>

namespace kusari {

/// Orders of axes for transpose: (N, C, H, W) to (N, H, W, C), and back.
inline constexpr int64_t kToChannelsLast[] = {0, 2, 3, 1}, kFromChannelsLast[] = {0, 3, 1, 2};

}  // namespace kusari
