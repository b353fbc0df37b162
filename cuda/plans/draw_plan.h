#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/host_device.h"
#include "kusari/framework/core/kernel.h"

// Which thread makes which random numbers: element i in C order gets the number at place offset + i of the stream.
namespace kusari::cuda {

/// Numbers that one block of the generator gives: what a thread makes at a time.
inline constexpr int kGroup = 4;

/// Where the draw begins in the stream, on the device that draws.
KUSARI_HOST_DEVICE uint64_t first_place(const RandomState& state) {
  return state.offset + (state.base != nullptr ? *state.base : 0);
}

/// Elements in C order: rows along the last axis, groups along each row. Where the rows are contiguous (`packed`),
/// groups lie on the boundaries of packs of memory; elsewhere on those of the generator's blocks.
template <int kOperands>
struct DrawPlan {
  RandomState state;  // of the first element
  uint32_t units;     // rows times groups of a row
  int32_t row_size;
  Divisor divisor;  // groups of a row if groups run fastest, else rows
  bool groups_run_fastest;
  bool packed;
  StridedIndex<kOperands> rows;
  int32_t stride[kOperands];  // bytes from one element of a row to the next
  char* base[kOperands];
};

/// Elements first .. first + 3 of a row, of which those outside 0 .. row_size - 1 do not exist.
template <int kOperands>
struct Group {
  int first;
  uint64_t place;  // of element `first` in the stream
  int32_t offset[kOperands];

  /// `origin`: first_place(plan.state).
  KUSARI_HOST_DEVICE Group(const DrawPlan<kOperands>& plan, uint32_t unit, uint64_t origin) {
    const uint32_t quotient = plan.divisor.quotient(unit), remainder = unit - quotient * plan.divisor.value();
    const uint32_t row = plan.groups_run_fastest ? quotient : remainder;
    const uint32_t group = plan.groups_run_fastest ? remainder : quotient;
    const uint64_t start = origin + static_cast<uint64_t>(row) * static_cast<uint32_t>(plan.row_size);
    first = static_cast<int>(group) * kGroup - (plan.packed ? 0 : static_cast<int>(start % kGroup));
    place = start + static_cast<uint64_t>(static_cast<int64_t>(first));
    uint32_t number[1] = {row};
    int32_t row_offset[kOperands][1];
    plan.rows.offsets(number, row_offset);
    for (int k = 0; k < kOperands; ++k) offset[k] = row_offset[k][0] + first * plan.stride[k];
  }
  KUSARI_HOST_DEVICE bool has(const DrawPlan<kOperands>& plan, int j) const {
    return first + j >= 0 && first + j < plan.row_size;
  }
  KUSARI_HOST_DEVICE bool is_pack(const DrawPlan<kOperands>& plan) const {
    return plan.packed && first + kGroup <= plan.row_size;
  }
};

/// The operands' axes in the order of their common shape, those that are one range in every operand merged.
template <int kOperands>
StridedRange<kOperands> range_in_order(const Array* const (&operands)[kOperands]) {
  StridedRange<kOperands> range;
  range.ndim = 0;
  const Shape& shape = operands[0]->shape();
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    int64_t stride[kOperands];
    bool merges = range.ndim > 0;
    for (int k = 0; k < kOperands; ++k) {
      stride[k] = operands[k]->strides()[axis] * itemsize(operands[k]->dtype());
      merges = merges && range.stride[k][range.ndim - 1] == stride[k] * shape[axis];
    }
    if (merges) {
      range.size[range.ndim - 1] *= shape[axis];
    } else {
      range.size[range.ndim++] = shape[axis];
    }
    for (int k = 0; k < kOperands; ++k) range.stride[k][range.ndim - 1] = stride[k];
  }
  if (range.ndim == 0) {
    range.size[range.ndim++] = 1;
    for (int k = 0; k < kOperands; ++k) range.stride[k][0] = itemsize(operands[k]->dtype());
  }
  for (int k = 0; k < kOperands; ++k) range.base[k] = operands[k]->template data<char>();
  return range;
}

/// A range that is narrow; elements of `itemsize` bytes.
template <int kOperands>
DrawPlan<kOperands> plan_of(const StridedRange<kOperands>& range, RandomState state, int64_t itemsize) {
  const int last = range.ndim - 1;
  DrawPlan<kOperands> plan;
  plan.state = state;
  plan.row_size = static_cast<int32_t>(range.size[last]);
  plan.packed = true;
  for (int k = 0; k < kOperands; ++k) {
    plan.base[k] = range.base[k];
    plan.stride[k] = static_cast<int32_t>(range.stride[k][last]);
    const int64_t group = kGroup * itemsize < 16 ? kGroup * itemsize : 16;
    plan.packed = plan.packed && range.stride[k][last] == itemsize &&
                  reinterpret_cast<uintptr_t>(range.base[k]) % static_cast<uint64_t>(group) == 0;
    for (int axis = 0; axis < last; ++axis) plan.packed = plan.packed && range.stride[k][axis] % group == 0;
  }
  StridedRange<kOperands> rows = range;
  if (last == 0) {
    rows.size[0] = 1;
    for (int k = 0; k < kOperands; ++k) rows.stride[k][0] = 0;
  } else {
    rows.ndim = last;
  }
  const int64_t n_rows = rows.elements();
  plan.rows = rows.index();
  // A row's places may begin anywhere in a block of the generator, and a graph's with any replay.
  const bool in_step =
      plan.packed || (state.base == nullptr && state.offset % kGroup == 0 && plan.row_size % kGroup == 0);
  const int64_t groups = (int64_t{plan.row_size} + (in_step ? 0 : kGroup - 1) + kGroup - 1) / kGroup;
  plan.groups_run_fastest = range.stride[0][last] == itemsize;
  plan.divisor = Divisor(plan.groups_run_fastest ? groups : n_rows);
  plan.units = static_cast<uint32_t>(n_rows * groups);
  return plan;
}

/// Calls run(piece, state) with narrow pieces, cut along the slowest axis, so that the places of each are one range.
template <int kOperands, class Run>
void for_each_narrow_in_order(const StridedRange<kOperands>& range, RandomState state, const Run& run) {
  if (range.is_narrow()) [[likely]] {
    run(range, state);
    return;
  }
  int cut = 0;
  while (range.size[cut] == 1) ++cut;
  StridedRange<kOperands> half = range;
  half.size[cut] = range.size[cut] / 2;
  for_each_narrow_in_order(half, state, run);
  state.offset += static_cast<uint64_t>(half.elements());
  for (int k = 0; k < kOperands; ++k) half.base[k] += half.size[cut] * range.stride[k][cut];
  half.size[cut] = range.size[cut] - half.size[cut];
  for_each_narrow_in_order(half, state, run);
}

}  // namespace kusari::cuda
