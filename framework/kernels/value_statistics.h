#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/value_counts.h"

namespace kusari::kernels {

constexpr ValueRange value_range(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return {0x1p-25, 0x1p-14, 65520};
    case Dtype::bfloat16:
      return {0x1p-134, 0x1p-126, 0x1.ffp127};
    case Dtype::float32:
      return {0x1p-150, 0x1p-126, 0x1.ffffffp127};
    default:
      return {0, 0x1p-1022, km::Real<double>::kInfinity};
  }
}

/// In whose range values are zeros, subnormal or infinite.
struct ValueCounting {
  bool own_range = true;         // that of each tensor's dtype
  Dtype dtype = Dtype::float32;  // otherwise

  constexpr ValueRange range(Dtype own) const { return value_range(own_range ? own : dtype); }
};

/// Merges what the values of n tensors are into n ValueCounts, the rows of `counts`: (n, 8), float64, C order. The
/// tensors are dense and floating.
struct ValueStatistics {
  static constexpr const char* kName = "value_statistics";
  using Signature = void(InList x, Params<ValueCounting> counting, InOut counts);
};

}  // namespace kusari::kernels
