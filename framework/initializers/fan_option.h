#pragma once

#include <cstdint>

namespace kusari::initializers {

/// Which of a unit's fans (see get_fans) decides the scale.
enum class FanOption : uint8_t { fan_in, fan_out };

}  // namespace kusari::initializers
