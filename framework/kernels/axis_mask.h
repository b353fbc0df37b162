#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"

namespace kusari {

/// A set of axes of one array: bit i is axis i.
struct AxisMask {
  uint32_t bits = 0;

  bool contains(int axis) const noexcept { return (bits >> axis & 1u) != 0; }
  static AxisMask all(int ndim) noexcept { return {(1u << ndim) - 1u}; }
  static AxisMask of(int axis) noexcept { return {1u << axis}; }
};

/// The axes, which may be negative, as a mask. Throws IndexError naming `call` for an axis that does not exist and
/// ValueError for one that comes twice.
KUSARI_API AxisMask axis_mask(std::span<const int64_t> axes, int ndim, const char* call);
/// The shape without the axes, or with size 1 in their place.
KUSARI_API Shape reduced_shape(const Shape& shape, AxisMask axes, bool keepdims);

}  // namespace kusari
