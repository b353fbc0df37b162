#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

/// The windows of a pooling over `ndim` spatial axes; entry i belongs to spatial axis i. The window of place o of y
/// holds the places stride o - pad + k of x, 0 <= k < ksize; those outside x are padding.
struct Pooling {
  int ndim = 0;
  int64_t ksize[kMaxNdim - 2] = {};
  int64_t stride[kMaxNdim - 2] = {};
  int64_t pad[kMaxNdim - 2] = {};
};

/// Places of one window.
inline int64_t window_size(const Pooling& pooling) {
  int64_t size = 1;
  for (int i = 0; i < pooling.ndim; ++i) size *= pooling.ksize[i];
  return size;
}

// x and gx: (N, C, in...), y, gy and index: (N, C, out...), floating and of one dtype except index, which counts the
// places of a window in C order, padding included: uint8 where that is enough for window_size(), else int32. Sums are
// in float32 at least. Any strides; channels-last (Array::channels_last) is what every implementation is made for. Each
// result is the same bits whatever the number of threads.

/// The dtype of `index`.
inline Dtype pooling_index_dtype(const Pooling& pooling) {
  return window_size(pooling) <= 256 ? Dtype::uint8 : Dtype::int32;
}

/// y = the largest element of each window, index (or undefined) = its place: the first of equal ones; NaN beats all.
/// A window outside x gives -inf and 0. On the CPU also of uint8 and int8 without an index; the least integer outside.
struct MaxPoolingForward {
  static constexpr const char* kName = "max_pooling_forward";
  using Signature = void(Params<Pooling> pooling, In x, Out y, Out index);
};

/// gx = the sum of gy over the windows whose index says this place.
struct MaxPoolingGrad {
  static constexpr const char* kName = "max_pooling_grad";
  using Signature = void(Params<Pooling> pooling, In gy, In index, Out gx);
};

/// y = the element of each window at the place `index`, 0 where that is padding: the gradient of MaxPoolingGrad.
struct MaxPoolingPick {
  static constexpr const char* kName = "max_pooling_pick";
  using Signature = void(Params<Pooling> pooling, In x, In index, Out y);
};

/// What the sum over a window is divided by: its places, those of them inside x, or nothing.
enum class PoolingDivisor : int { window, inside, one };

struct AveragePooling {
  Pooling pooling;
  PoolingDivisor divisor = PoolingDivisor::window;
};

/// y = the sum of each window over its divisor.
struct AveragePoolingForward {
  static constexpr const char* kName = "average_pooling_forward";
  using Signature = void(Params<AveragePooling> pooling, In x, Out y);
};

/// gx = the sum of gy over the windows that hold this place, each over its divisor.
struct AveragePoolingGrad {
  static constexpr const char* kName = "average_pooling_grad";
  using Signature = void(Params<AveragePooling> pooling, In gy, Out gx);
};

}  // namespace kusari::kernels
