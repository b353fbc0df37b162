#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The inverse of erf: erf(y) = x.
/// x: any shape, floating; infinite at -1 and 1, NaN beyond. Returns y like x. Throws TypeError if x is not floating.
/// Differentiable to any order. chainer.functions.erfinv.
KUSARI_API Variable erfinv(const Variable& x);

}  // namespace kusari::functions
