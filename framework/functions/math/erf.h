#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Error function: y = 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.erf.
KUSARI_API Variable erf(const Variable& x);

/// y = 1 - erf(x), exact for large x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.erfc.
KUSARI_API Variable erfc(const Variable& x);

}  // namespace kusari::functions
