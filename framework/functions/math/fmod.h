#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The remainder of x / divisor rounded towards zero: y has the sign of x.
/// x, divisor: one floating dtype, shapes that broadcast. Returns y in the common shape. Throws TypeError otherwise.
/// Differentiable to any order; the quotient counts as a constant. chainer.functions.fmod.
KUSARI_API Variable fmod(const Variable& x, const Variable& divisor);

}  // namespace kusari::functions
