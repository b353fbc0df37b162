#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// z = p x + (1 - p) y, element by element.
/// p, x, y: one floating dtype and shape. Returns z like x. Throws TypeError otherwise. Differentiable to any order.
/// chainer.functions.linear_interpolate.
KUSARI_API Variable linear_interpolate(const Variable& p, const Variable& x, const Variable& y);

}  // namespace kusari::functions
