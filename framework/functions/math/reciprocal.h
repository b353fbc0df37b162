#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = 1 / x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// numpy.reciprocal.
KUSARI_API Variable reciprocal(const Variable& x);

}  // namespace kusari::functions
