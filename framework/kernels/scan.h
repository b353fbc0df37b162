#pragma once

#include "kusari/framework/core/kernel.h"

// Running results along one axis.
namespace kusari::kernels {

/// The axis, and whether it is run through from its end.
struct ScanAxis {
  int axis;  ///< not negative
  bool reverse;
};

/// y[i] = x[0] + ... + x[i]; in reverse x[i] + ... + x[n-1]. x and y: one shape, any strides, both floating or both
/// integers; half types are summed in float32, integers in int64.
struct CumulativeSum {
  static constexpr const char* kName = "cumulative_sum";
  using Signature = void(Params<ScanAxis> along, In x, Out y);
};

/// y[i] = x[0] x[1] ... x[i]; otherwise as CumulativeSum.
struct CumulativeProduct {
  static constexpr const char* kName = "cumulative_product";
  using Signature = void(Params<ScanAxis> along, In x, Out y);
};

/// y[0] = b[0], y[i] = a[i-1] y[i-1] + b[i]; in reverse y[n-1] = b[n-1], y[i] = a[i] y[i+1] + b[i]. b and y: one shape;
/// a: one element less along the axis, which is not empty. One dtype, any strides; half types are computed in
/// float32, integers in int64.
struct LinearRecurrence {
  static constexpr const char* kName = "linear_recurrence";
  using Signature = void(Params<ScanAxis> along, In a, In b, Out y);
};

}  // namespace kusari::kernels
