#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Limits elements to [x_min, x_max].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating, ValueError when x_min > x_max.
/// Differentiable to any order, with derivative 1 at both bounds. chainer.functions.clip.
KUSARI_API Variable clip(const Variable& x, double x_min, double x_max);

}  // namespace kusari::functions
