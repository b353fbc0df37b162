#pragma once

#include <cstdint>

namespace kusari::functions {

/// What a loss does with its terms: their mean or sum, or one loss per term. chainer's `reduce` argument.
enum class Reduce : uint8_t { mean, sum, no };

/// Chainer's name of it.
constexpr const char* name_of(Reduce reduce) {
  return reduce == Reduce::mean ? "mean" : reduce == Reduce::sum ? "sum" : "no";
}

/// What cross_covariance and decov do with the covariances: half the sum of their squares, or the matrix itself.
enum class CovarianceReduce : uint8_t { half_squared_sum, no };

}  // namespace kusari::functions
