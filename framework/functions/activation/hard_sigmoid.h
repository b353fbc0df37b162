#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct HardSigmoidOptions {
  double alpha = 0.2;  ///< slope
  double beta = 0.5;   ///< y at x = 0
};

/// y = alpha x + beta limited to [0, 1].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating, ValueError if a number is NaN.
/// Differentiable to any order, with derivative 0 at both edges. chainer.functions.hard_sigmoid, whose numbers are the
/// defaults; torch.nn.functional.hardsigmoid has 1/6 and 1/2.
KUSARI_API Variable hard_sigmoid(const Variable& x, const HardSigmoidOptions& options = {});

}  // namespace kusari::functions
