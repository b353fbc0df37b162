#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Exponential linear unit: y = x for x >= 0, alpha (exp(x) - 1) below.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// Clevert et al. 2016; chainer.functions.elu.
KUSARI_API Variable elu(const Variable& x, double alpha = 1.0);

/// Self-normalizing unit: y = scale * elu(x, alpha).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// Klambauer et al. 2017; chainer.functions.selu.
KUSARI_API Variable selu(const Variable& x, double alpha = 1.6732632423543772848170429916717,
                         double scale = 1.0507009873554804934193349852946);

}  // namespace kusari::functions
