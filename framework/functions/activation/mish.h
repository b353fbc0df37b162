#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x tanh(log(1 + exp(x))).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// Misra 2019; torch.nn.functional.mish (Chainer has none).
KUSARI_API Variable mish(const Variable& x);

}  // namespace kusari::functions
