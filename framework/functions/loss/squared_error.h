#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = (x0 - x1)^2, element by element.
/// x0, x1: one shape and floating dtype. Returns y like them. Throws TypeError otherwise.
/// Differentiable to any order. chainer.functions.squared_error.
KUSARI_API Variable squared_error(const Variable& x0, const Variable& x1);

/// Chainer's other name of squared_error.
inline Variable squared_difference(const Variable& x1, const Variable& x2) { return squared_error(x1, x2); }

}  // namespace kusari::functions
