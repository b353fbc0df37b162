#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = exp(x^2) erfc(x), small where erfc would be 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.erfcx.
KUSARI_API Variable erfcx(const Variable& x);

}  // namespace kusari::functions
