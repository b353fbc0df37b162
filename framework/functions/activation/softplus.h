#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Smooth rectifier: y = log(1 + exp(beta * x)) / beta.
/// x: any shape, floating. beta: sharpness, nonzero. Returns y like x. Throws TypeError if x is not floating.
/// Differentiable to any order. Dugas et al. 2001; chainer.functions.softplus.
KUSARI_API Variable softplus(const Variable& x, double beta = 1.0);

}  // namespace kusari::functions
