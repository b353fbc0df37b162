#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Continuously differentiable exponential linear unit: y = x for x >= 0, alpha (exp(x / alpha) - 1) below.
/// x: any shape, floating. alpha: not 0. Returns y like x. Throws TypeError if x is not floating, ValueError if alpha
/// is 0 or NaN. Differentiable to any order. Barron 2017; torch.nn.functional.celu (Chainer has none).
KUSARI_API Variable celu(const Variable& x, double alpha = 1.0);

}  // namespace kusari::functions
