#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The inverse of erfc: erfc(y) = x.
/// x: any shape, floating; infinite at 0 and 2, NaN beyond. Returns y like x. Throws TypeError if x is not floating.
/// Differentiable to any order. chainer.functions.erfcinv.
KUSARI_API Variable erfcinv(const Variable& x);

}  // namespace kusari::functions
