#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = ln |gamma(x)|.
/// x: any shape, floating; infinite at 0 and at negative integers. Returns y like x. Throws TypeError if x is not
/// floating. Differentiable to any order. chainer.functions.lgamma.
KUSARI_API Variable lgamma(const Variable& x);

}  // namespace kusari::functions
