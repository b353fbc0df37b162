#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = e^x - 1, exact for small x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.expm1.
KUSARI_API Variable expm1(const Variable& x);

}  // namespace kusari::functions
