#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Logarithm of the logistic function: y = -log(1 + exp(-x)), without overflow and exact where exp(-x) is small.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// torch.nn.functional.logsigmoid.
KUSARI_API Variable log_sigmoid(const Variable& x);

}  // namespace kusari::functions
