#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The larger of two values, element by element; NaN if either is NaN.
/// x1, x2: one dtype, shapes that broadcast. Returns y in the common shape. Throws TypeError otherwise. Differentiable
/// to any order where x1 and x2 are floating; at a tie the gradient goes to x1. chainer.functions.maximum, which takes
/// floating ones alone.
KUSARI_API Variable maximum(const Variable& x1, const Variable& x2);

}  // namespace kusari::functions
