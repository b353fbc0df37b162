#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x sigmoid(beta x).
/// x: (N, ...), floating. beta: of x's dtype, its shape that of x's axes from axis 1 on, the last ones left out where
/// they share a number: () one for all, (C) one per channel. Returns y like x. Throws ValueError when the shapes do not
/// fit, TypeError for other dtypes. Differentiable to any order. Ramachandran et al. 2017; chainer.functions.swish.
KUSARI_API Variable swish(const Variable& x, const Variable& beta);

/// Swish with beta = 1, y = x sigmoid(x): F::silu, one kernel each way that keeps x alone.
KUSARI_API Variable swish(const Variable& x);

}  // namespace kusari::functions
