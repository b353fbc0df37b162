#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The derivative of lgamma: y = d/dx ln gamma(x).
/// x: any shape, floating; NaN at negative integers. Returns y like x. Throws TypeError if x is not floating.
/// Differentiable to any order. chainer.functions.digamma.
KUSARI_API Variable digamma(const Variable& x);

}  // namespace kusari::functions
