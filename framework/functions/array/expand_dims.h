#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Inserts an axis of size 1 so that it becomes axis `axis` of the result; a view.
/// x: any shape and dtype. axis: in [-ndim - 1, ndim]. Throws IndexError when it is not. Differentiable to any order.
/// chainer.functions.expand_dims.
KUSARI_API Variable expand_dims(const Variable& x, int64_t axis);

}  // namespace kusari::functions
