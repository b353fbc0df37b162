#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The sum of squares of each sample.
/// x: (N, ...) with at least 2 axes, floating. Returns y: (N). Throws TypeError otherwise. Differentiable to any order.
/// chainer.functions.batch_l2_norm_squared.
KUSARI_API Variable batch_l2_norm_squared(const Variable& x);

}  // namespace kusari::functions
