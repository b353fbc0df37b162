#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = x where x > alpha, else 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating, ValueError if alpha is NaN.
/// Differentiable to any order, with derivative 0 at alpha. Konda et al. 2015 (Chainer has none).
KUSARI_API Variable thresholded_relu(const Variable& x, double alpha = 1.0);

}  // namespace kusari::functions
