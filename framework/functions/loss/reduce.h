#pragma once

#include <cstdint>

namespace kusari::functions {

/// What a loss does with its terms: their mean or sum, or one loss per term. chainer's `reduce` argument.
enum class Reduce : uint8_t { mean, sum, no };

}  // namespace kusari::functions
