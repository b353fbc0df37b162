#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/separate.h"

namespace kusari::functions {

/// x: (B, n H, ...), the n gates of one unit after each other; returns them as n variables (B, H, ...).
inline Variables interleaved_gates(const Variable& x, int64_t n) {
  Shape shape{x.shape()[0], x.shape()[1] / n, n};
  for (int axis = 2; axis < x.ndim(); ++axis) shape.push_back(x.shape()[axis]);
  return separate(reshape(x, shape), 2);
}

}  // namespace kusari::functions
