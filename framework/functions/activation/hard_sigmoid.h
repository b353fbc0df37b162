#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = 0.2 x + 0.5 limited to [0, 1].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order, with
/// derivative 0 at both edges. chainer.functions.hard_sigmoid.
KUSARI_API Variable hard_sigmoid(const Variable& x);

}  // namespace kusari::functions
