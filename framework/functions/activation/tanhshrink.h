#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x - tanh(x), in all digits also near 0, where it is x^3 / 3.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// torch.nn.functional.tanhshrink (Chainer has none).
KUSARI_API Variable tanhshrink(const Variable& x);

}  // namespace kusari::functions
