#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The distribution function of the normal distribution: the probability of numbers below x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.ndtr.
KUSARI_API Variable ndtr(const Variable& x);

}  // namespace kusari::functions
