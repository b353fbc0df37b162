#pragma once

#include <cstdint>
#include <utility>

#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/framework/core/host_device.h"
#include "kusari/framework/core/shape.h"

// Some axes of several arrays as a counter, for kernels that split axes into those of a row and those of all rows.
namespace kusari::cuda {

/// A stable sort of the few axes of an array, without the memory that std::stable_sort takes.
template <class Axis, class Before>
void sort_axes(Axis* axes, int count, const Before& before) {
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && before(axes[j], axes[j - 1]); --j) std::swap(axes[j], axes[j - 1]);
  }
}

/// Axes in the order of counting, the last one fastest, with the strides of each operand in elements.
template <int kOperands>
struct AxisList {
  int count = 0;
  int64_t total = 1;  ///< elements of all axes
  int64_t size[kMaxNdim];
  int64_t stride[kMaxNdim][kOperands];
  Divisor divisor[kMaxNdim];
  double inverse[kMaxNdim];  ///< 1 / size

  void push_back(int64_t axis_size, const int64_t (&strides)[kOperands]) {
    size[count] = axis_size;
    for (int k = 0; k < kOperands; ++k) stride[count][k] = strides[k];
    divisor[count] = Divisor(axis_size > 0 && axis_size <= kNarrow ? axis_size : 1);
    inverse[count] = axis_size > 0 ? 1 / static_cast<double>(axis_size) : 1;
    total *= axis_size;
    ++count;
  }
  /// push_back, or a longer last axis where the two are one range in every operand.
  void merge_back(int64_t axis_size, const int64_t (&strides)[kOperands]) {
    bool one_range = count > 0;
    for (int k = 0; k < kOperands && one_range; ++k) one_range = stride[count - 1][k] == strides[k] * axis_size;
    if (one_range) {
      const int64_t merged = size[count - 1] * axis_size;
      --count;
      total /= size[count] != 0 ? size[count] : 1;
      push_back(merged, strides);
    } else {
      push_back(axis_size, strides);
    }
  }

  /// The offsets of element `index` of the first `axes` axes.
  KUSARI_HOST_DEVICE void locate(int64_t index, int axes, int64_t (&offset)[kOperands]) const {
    for (int k = 0; k < kOperands; ++k) offset[k] = 0;
    // Counted upwards: nvcc 13 unrolls a loop that counts down all the same.
    KUSARI_NO_UNROLL
    for (int inner = 1; inner < axes; ++inner) {
      const int axis = axes - inner;
      const int64_t quotient =
          total <= kNarrow ? divisor[axis].quotient(static_cast<uint32_t>(index)) : wide_quotient(index, axis);
      const int64_t place = index - quotient * size[axis];
      for (int k = 0; k < kOperands; ++k) offset[k] += place * stride[axis][k];
      index = quotient;
    }
    if (axes > 0) {
      for (int k = 0; k < kOperands; ++k) offset[k] += index * stride[0][k];
    }
  }
  KUSARI_HOST_DEVICE void locate(int64_t index, int64_t (&offset)[kOperands]) const { locate(index, count, offset); }

 private:
  /// index / size[axis] for any index below 2^53; a division of 64-bit integers is a hundred instructions.
  KUSARI_HOST_DEVICE int64_t wide_quotient(int64_t index, int axis) const {
    const auto quotient = static_cast<int64_t>(static_cast<double>(index) * inverse[axis]);  // or 1 more or less
    const int64_t rest = index - quotient * size[axis];
    return quotient + (rest >= size[axis] ? 1 : 0) - (rest < 0 ? 1 : 0);
  }
};

}  // namespace kusari::cuda
