#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rectifier: y = max(x, 0).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order, with
/// derivative 0 at 0. Nair and Hinton 2010; chainer.functions.relu.
KUSARI_API Variable relu(const Variable& x);

}  // namespace kusari::functions
