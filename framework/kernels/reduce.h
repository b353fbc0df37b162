#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/axis_mask.h"
#include "kusari/framework/kernels/reducers.h"

namespace kusari {

namespace kernels {

/// y = the reduction of x over the axes in the mask, for a reducer `R` of kernels/reducers.h; y has the remaining axes
/// in order (axes of size 1 may stand anywhere). Half types accumulate in float32.
template <class R>
struct Reduction {
  static constexpr const char* kName = R::kName;
  using Signature = void(Params<R> reducer, Params<AxisMask> axes, In x, Out y);
};

/// y = the place along `axis` of the largest element: the first of several, a NaN before all. y is int32 or int64 and
/// has x's shape without that axis. An axis -1 means x as one flat range in C order.
struct Argmax {
  static constexpr const char* kName = "argmax";
  using Signature = void(Params<int> axis, In x, Out y);
};

/// Like Argmax for the smallest element.
struct Argmin {
  static constexpr const char* kName = "argmin";
  using Signature = void(Params<int> axis, In x, Out y);
};

/// indices = the places of the k largest elements of each row, from the largest: of equal ones the first, a NaN before
/// all. x: (rows, n), C-ordered. indices: (rows, k), int32, C-ordered, k <= n.
struct TopK {
  static constexpr const char* kName = "top_k";
  using Signature = void(In x, Out indices);
};

}  // namespace kernels

/// The dtype of sums and products over elements of `dtype`: int64 for integers and bool, whose own would overflow.
constexpr Dtype accumulation_dtype(Dtype dtype) { return is_integral(dtype) ? Dtype::int64 : dtype; }
/// The reduction as a new C-ordered array of the given dtype.
template <class R>
Array reduce_as(Dtype dtype, const R& reducer, const Array& x, AxisMask axes, bool keepdims = false) {
  const Array y = empty(reduced_shape(x.shape(), axes, keepdims), dtype, x.device());
  launch<kernels::Reduction<R>>(x.device(), reducer, axes, x, y);
  return y;
}
/// The reduction in x's dtype.
template <class R>
Array reduce(const R& reducer, const Array& x, AxisMask axes, bool keepdims = false) {
  return reduce_as(x.dtype(), reducer, x, axes, keepdims);
}
/// The reduction over all axes: an array without axes.
template <class R>
Array reduce(const R& reducer, const Array& x) {
  return reduce(reducer, x, AxisMask::all(x.ndim()));
}

}  // namespace kusari
