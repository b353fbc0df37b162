#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rectifier with a slope below zero: y = x for x >= 0, slope * x otherwise.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order, with
/// derivative `slope` at 0. Maas et al. 2013; chainer.functions.leaky_relu.
KUSARI_API Variable leaky_relu(const Variable& x, double slope = 0.2);

}  // namespace kusari::functions
