#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rectifier with a ceiling: y = min(max(x, 0), z).
/// x: any shape, floating. z: the ceiling. Returns y like x. Throws TypeError if x is not floating. Differentiable to
/// any order, with derivative 0 at both edges. chainer.functions.clipped_relu.
KUSARI_API Variable clipped_relu(const Variable& x, double z = 20.0);

/// clipped_relu with z = 6. Krizhevsky 2010; chainer.functions.relu6.
KUSARI_API Variable relu6(const Variable& x);

}  // namespace kusari::functions
