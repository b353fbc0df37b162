#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"

namespace kusari::testing {

/// Numbers in [low, high), the same for the same arguments.
Array uniform_array(const Shape& shape, double low, double high, Dtype dtype = Dtype::float32, uint64_t seed = 1);

}  // namespace kusari::testing
