#pragma once

#include <numbers>

#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// erf'(0) = 2 / sqrt(pi).
inline constexpr double kErfSlope = 2 * std::numbers::inv_sqrtpi;

}  // namespace kusari::functions
