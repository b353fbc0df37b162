#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Mean of |x0 - x1| over all elements.
/// x0, x1: one shape and floating dtype. Returns a scalar of that dtype, half types accumulated in float32. Throws
/// TypeError otherwise. Differentiable to any order, with derivative 0 where x0 = x1.
/// chainer.functions.mean_absolute_error.
KUSARI_API Variable mean_absolute_error(const Variable& x0, const Variable& x1);

}  // namespace kusari::functions
