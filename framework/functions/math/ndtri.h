#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The inverse of ndtr: below y lies the share x of the normal distribution.
/// x: any shape, floating; infinite at 0 and 1, NaN beyond. Returns y like x. Throws TypeError if x is not floating.
/// Differentiable to any order. chainer.functions.ndtri.
KUSARI_API Variable ndtri(const Variable& x);

}  // namespace kusari::functions
