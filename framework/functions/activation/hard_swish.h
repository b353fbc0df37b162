#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Hard swish: y = x (x / 6 + 1/2), 0 below -3 and x above 3.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order, with
/// the derivatives of the straight parts at both edges. Howard et al. 2019; torch.nn.functional.hardswish (Chainer has
/// none).
KUSARI_API Variable hard_swish(const Variable& x);

}  // namespace kusari::functions
