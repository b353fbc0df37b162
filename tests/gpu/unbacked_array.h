#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"

namespace kusari::testing {

/// An array of any size and layout at an address where no memory is: for plans, which look at no element.
inline Array unbacked_array(const Shape& shape, const Strides& strides, Dtype dtype = Dtype::float32,
                            uintptr_t address = 0x100000) {
  return from_external(
      reinterpret_cast<void*>(address), shape, strides, dtype, Device(), [](void*) {}, nullptr);
}
inline Array unbacked_array(const Shape& shape, Dtype dtype = Dtype::float32, uintptr_t address = 0x100000) {
  return unbacked_array(shape, contiguous_strides(shape), dtype, address);
}

/// Rows along the last axis with gaps behind them, at multiples of that many elements.
inline Strides padded_strides(Shape shape, int64_t multiple) {
  if (shape.ndim() > 0) shape[shape.ndim() - 1] = shape[shape.ndim() - 1] / multiple * multiple + multiple;
  return contiguous_strides(shape);
}

/// Calls visit(index) for every element in C order; index has an entry for each axis.
template <class Visit>
void for_each_index(const Shape& shape, const Visit& visit) {
  int64_t index[kMaxNdim] = {};
  for (int64_t i = 0, n = numel(shape); i < n; ++i) {
    visit(index);
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// What CUDA takes along x, and along y and z.
inline constexpr int64_t kMostBlocks = 0x7fffffff, kMostBlocksAcross = 65535;

}  // namespace kusari::testing
