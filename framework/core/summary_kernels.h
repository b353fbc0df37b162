#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// sums += (weight x, weight x^2). x: one element of any dtype; sums: (2), float64, C order.
struct AccumulateMoments {
  static constexpr const char* kName = "accumulate_moments";
  using Signature = void(In x, Params<double> weight, InOut sums);
};

}  // namespace kusari::kernels
