#include "kusari/framework/kernels/axis_mask.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari {

AxisMask axis_mask(std::span<const int64_t> axes, int ndim, const char* call) {
  AxisMask mask;
  for (const int64_t given : axes) {
    const int axis = normalize_axis(given, ndim, call);
    if (mask.contains(axis)) throw ValueError(std::string(call) + ": axis " + std::to_string(given) + " comes twice");
    mask.bits |= AxisMask::of(axis).bits;
  }
  return mask;
}

Shape reduced_shape(const Shape& shape, AxisMask axes, bool keepdims) {
  Shape reduced;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (!axes.contains(axis)) {
      reduced.push_back(shape[axis]);
    } else if (keepdims) {
      reduced.push_back(1);
    }
  }
  return reduced;
}

}  // namespace kusari
