#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/array.h"

namespace kusari::cuda::user {

/// Axes of one shape and the bytes between elements of several arrays along them: axes of size 1 are gone, neighbours
/// that are one range in every array are merged; there is one axis at least. Elements stay in C order.
struct AxisRuns {
  static constexpr int kMaxArrays = 32;
  int ndim = 0, arrays = 0;
  int64_t size[kMaxNdim];
  int64_t stride[kMaxArrays][kMaxNdim];

  /// Appends the axis; `strides` has one entry per array.
  void append(int64_t axis_size, const int64_t* strides);
  /// After the last axis: at least one.
  void finish();
  /// sizes, then strides array by array: the bytes of user::Layout<arrays, ndim>.
  size_t flatten(int64_t* to) const;
};

/// The runs of the axes for which `takes(axis)` of arrays that all have `shape`.
template <class Takes>
AxisRuns axis_runs(const Shape& shape, std::span<const Array> arrays, Takes&& takes) {
  AxisRuns runs;
  runs.arrays = static_cast<int>(arrays.size());
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (!takes(axis)) continue;
    int64_t strides[AxisRuns::kMaxArrays];
    for (size_t k = 0; k < arrays.size(); ++k) strides[k] = arrays[k].strides()[axis] * itemsize(arrays[k].dtype());
    runs.append(shape[axis], strides);
  }
  runs.finish();
  return runs;
}

}  // namespace kusari::cuda::user
