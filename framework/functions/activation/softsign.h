#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x / (1 + |x|).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// torch.nn.functional.softsign (Chainer has none).
KUSARI_API Variable softsign(const Variable& x);

}  // namespace kusari::functions
