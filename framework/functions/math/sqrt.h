#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Square root; NaN for x < 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.sqrt.
KUSARI_API Variable sqrt(const Variable& x);

/// Reciprocal square root: y = 1 / sqrt(x).
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.rsqrt.
KUSARI_API Variable rsqrt(const Variable& x);

}  // namespace kusari::functions
