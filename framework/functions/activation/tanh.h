#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Hyperbolic tangent.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.tanh.
KUSARI_API Variable tanh(const Variable& x);

}  // namespace kusari::functions
