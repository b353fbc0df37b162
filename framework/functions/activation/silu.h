#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Sigmoid-weighted linear unit: y = x sigmoid(x), which is swish with beta = 1.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// Elfwing et al. 2018; torch.nn.functional.silu (Chainer has swish alone).
KUSARI_API Variable silu(const Variable& x);

}  // namespace kusari::functions
