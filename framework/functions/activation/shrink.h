#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct ShrinkOptions {
  double lambd = 0.5;  ///< what lies between -lambd and lambd, both included, becomes 0
  double bias = 0.0;   ///< by which the rest comes nearer to 0: lambd for the soft form, 0 for the hard one
};

/// Shrinkage: y = x + bias below -lambd, x - bias above lambd, 0 between.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating, ValueError if a number is NaN.
/// Differentiable to any order, with derivative 0 at both edges. torch.nn.functional.softshrink and hardshrink (Chainer
/// has none).
KUSARI_API Variable shrink(const Variable& x, const ShrinkOptions& options = {});

}  // namespace kusari::functions
