#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Keeps elements of a previous state at random: each y is h with probability `ratio`, x otherwise; x itself unless
/// config.train.
/// h, x: one shape and floating dtype. ratio: in [0, 1]. Returns y like x. Throws ValueError for another ratio,
/// TypeError when shapes or dtypes differ. Differentiable to any order. Krueger et al. 2017; chainer.functions.zoneout.
KUSARI_API Variable zoneout(const Variable& h, const Variable& x, double ratio = 0.5);

}  // namespace kusari::functions
