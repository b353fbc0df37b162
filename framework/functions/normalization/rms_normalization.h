#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = gamma x / sqrt(mean(x^2) + eps), with the mean over the last axis.
/// x: (..., C), floating. gamma: (C), floating. eps: not negative. Returns y like x; half types are computed in
/// float32. Throws TypeError when shapes or dtypes do not fit, ValueError for another eps. Differentiable to any order.
/// Zhang and Sennrich 2019; torch.nn.functional.rms_norm.
KUSARI_API Variable rms_normalization(const Variable& x, const Variable& gamma, double eps = 1e-6);

}  // namespace kusari::functions
