#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"

// Pieces of an array along one axis, for running results. For the sources of this folder.
namespace kusari::functions {

/// Elements start, ..., stop - 1 of an axis.
inline Variable axis_part(const Variable& x, int axis, std::optional<int64_t> start, std::optional<int64_t> stop) {
  SmallVector<Index, 4> slices(static_cast<size_t>(axis), Index(Slice{}));
  slices.push_back(Slice{start, stop});
  return get_item(x, std::span<const Index>(slices.data(), slices.size()));
}
inline Variable all_but_first(const Variable& x, int axis) { return axis_part(x, axis, 1, std::nullopt); }
inline Variable all_but_last(const Variable& x, int axis) { return axis_part(x, axis, std::nullopt, -1); }

/// x moved by one place, towards the axis' end or, reverse, its beginning; `value` comes in, one element leaves.
inline Variable shifted_by_one(const Variable& x, int axis, bool reverse, Scalar value) {
  if (x.shape()[axis] == 0) return x;
  Shape shape = x.shape();
  shape[axis] = 1;
  const Variable entering(full(shape, value, x.dtype(), x.device()), false);
  return reverse ? concat({all_but_first(x, axis), entering}, axis) : concat({entering, all_but_last(x, axis)}, axis);
}

}  // namespace kusari::functions
