#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Logistic function: y = 1 / (1 + exp(-x)).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.sigmoid.
KUSARI_API Variable sigmoid(const Variable& x);

}  // namespace kusari::functions
