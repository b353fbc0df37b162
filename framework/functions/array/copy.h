#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x on another device, as part of the graph: the gradient comes back to x's device.
/// x: any shape and dtype. Differentiable to any order. chainer.functions.copy.
KUSARI_API Variable copy(const Variable& x, const Device& dst);

}  // namespace kusari::functions
