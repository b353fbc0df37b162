#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "kusari/framework/core/host_device.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/kernels/strided.h"

// From the number of an element to its place in every operand of a StridedLoop, in 32-bit arithmetic; loops too large
// for it are cut into pieces.
namespace kusari::cuda {

/// Largest number of elements, and of bytes between an operand's first and any other element, of one piece.
inline constexpr int64_t kNarrow = 0x7fffffff;

/// Elements that one thread reads from an operand before it uses the first, where they are read one by one.
inline constexpr int kAtOnce = 4;

/// Before a loop over axes: nvcc would write its body four times into each place of use, which is most of a kernel.
#if defined(__CUDA_ARCH__)
#define KUSARI_NO_UNROLL _Pragma("unroll 1")
#else
#define KUSARI_NO_UNROLL
#endif

/// Division of numbers below 2^31 by one that stays the same, 1 .. 2^31 - 1 (Granlund and Montgomery 1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t divisor)
      : divisor_{static_cast<uint32_t>(divisor)}, shift_{static_cast<uint32_t>(std::bit_width(divisor_ - 1))} {
    const uint64_t excess = (uint64_t{1} << shift_) - divisor_;
    multiplier_ = static_cast<uint32_t>((excess << 32) / divisor_ + 1);
  }

  KUSARI_HOST_DEVICE uint32_t quotient(uint32_t n) const {
    const uint32_t high = static_cast<uint32_t>((static_cast<uint64_t>(n) * multiplier_) >> 32);
    return (high + n) >> shift_;
  }
  KUSARI_HOST_DEVICE uint32_t value() const { return divisor_; }

 private:
  uint32_t divisor_;
  uint32_t shift_;
  uint32_t multiplier_;
};

/// Element numbers (the innermost axis runs fastest) to byte offsets. A kernel's parameter.
template <int kOperands>
struct StridedIndex {
  int ndim;
  Divisor size[kMaxNdim];               // innermost axis first
  int32_t stride[kMaxNdim][kOperands];  // bytes

  /// Offsets of kItems elements at once, so that their chains of arithmetic overlap.
  template <int kItems>
  KUSARI_HOST_DEVICE void offsets(uint32_t (&number)[kItems], int32_t (&offset)[kOperands][kItems]) const {
    for (int k = 0; k < kOperands; ++k) {
      for (int j = 0; j < kItems; ++j) offset[k][j] = 0;
    }
    KUSARI_NO_UNROLL
    for (int axis = 0; axis + 1 < ndim; ++axis) {
      const Divisor divisor = size[axis];
      for (int j = 0; j < kItems; ++j) {
        const uint32_t quotient = divisor.quotient(number[j]);
        const auto remainder = static_cast<int32_t>(number[j] - quotient * divisor.value());
        for (int k = 0; k < kOperands; ++k) offset[k][j] += remainder * stride[axis][k];
        number[j] = quotient;
      }
    }
    for (int j = 0; j < kItems; ++j) {
      for (int k = 0; k < kOperands; ++k) offset[k][j] += static_cast<int32_t>(number[j]) * stride[ndim - 1][k];
    }
  }
};

/// The axes of a StridedLoop, outermost first, which may be cut and whose inner axis may be grouped into packs.
template <int kOperands>
struct StridedRange {
  int ndim = 1;
  int64_t size[kMaxNdim];
  int64_t stride[kOperands][kMaxNdim];  // bytes
  char* base[kOperands];

  StridedRange() = default;
  explicit StridedRange(const StridedLoop& loop) : ndim{loop.ndim()} {
    for (int axis = 0; axis < ndim; ++axis) {
      size[axis] = loop.size(axis);
      for (int k = 0; k < kOperands; ++k) stride[k][axis] = loop.stride(k, axis);
    }
    for (int k = 0; k < kOperands; ++k) base[k] = loop.base(k);
  }

  int64_t elements() const {
    int64_t n = 1;
    for (int axis = 0; axis < ndim; ++axis) n *= size[axis];
    return n;
  }

  /// Whether a StridedIndex can hold it.
  bool is_narrow() const {
    if (elements() > kNarrow) return false;
    for (int k = 0; k < kOperands; ++k) {
      int64_t reach = 0;
      for (int axis = 0; axis < ndim; ++axis) reach += std::abs(stride[k][axis]) * (size[axis] - 1);
      if (reach > kNarrow) return false;
    }
    return true;
  }

  /// Whether `pack` elements along the inner axis are one aligned pack, or one repeated element, in every operand.
  bool has_packs(int64_t pack, const int (&itemsize)[kOperands]) const {
    const int inner = ndim - 1;
    if (size[inner] % pack != 0) return false;
    for (int k = 0; k < kOperands; ++k) {
      if (stride[k][inner] == 0) continue;
      const int64_t bytes = pack * itemsize[k];
      if (stride[k][inner] != itemsize[k] || reinterpret_cast<uintptr_t>(base[k]) % static_cast<uint64_t>(bytes) != 0)
        return false;
      for (int axis = 0; axis < inner; ++axis) {
        if (stride[k][axis] % bytes != 0) return false;
      }
    }
    return true;
  }

  /// Makes each pack of the inner axis one element; needs has_packs.
  void group(int64_t pack) {
    size[ndim - 1] /= pack;
    for (int k = 0; k < kOperands; ++k) stride[k][ndim - 1] *= pack;
  }

  StridedIndex<kOperands> index() const {
    StridedIndex<kOperands> index;
    index.ndim = ndim;
    for (int axis = 0; axis < ndim; ++axis) {
      const int from = ndim - 1 - axis;
      index.size[axis] = Divisor(size[from]);
      for (int k = 0; k < kOperands; ++k) index.stride[axis][k] = static_cast<int32_t>(stride[k][from]);
    }
    return index;
  }
};

/// Calls run(piece) with narrow pieces that make up the range, which has elements.
template <int kOperands, class Run>
void for_each_narrow(const StridedRange<kOperands>& range, const Run& run) {
  if (range.is_narrow()) [[likely]] {
    run(range);
    return;
  }
  // The axis that reaches furthest is cut.
  int cut = 0;
  int64_t furthest = -1;
  for (int axis = 0; axis < range.ndim; ++axis) {
    int64_t reach = range.size[axis] - 1;
    for (int k = 0; k < kOperands; ++k) {
      const int64_t bytes = std::abs(range.stride[k][axis]) * (range.size[axis] - 1);
      reach = bytes > reach ? bytes : reach;
    }
    if (range.size[axis] > 1 && reach > furthest) {
      furthest = reach;
      cut = axis;
    }
  }
  StridedRange<kOperands> half = range;
  half.size[cut] = range.size[cut] / 2;
  for_each_narrow(half, run);
  for (int k = 0; k < kOperands; ++k) half.base[k] += half.size[cut] * range.stride[k][cut];
  half.size[cut] = range.size[cut] - half.size[cut];
  for_each_narrow(half, run);
}

}  // namespace kusari::cuda
