#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = log(exp(x1) + exp(x2)), without overflow: log of a sum of probabilities that are given by their logarithms.
/// x1, x2: one floating dtype, shapes that broadcast. Returns y in the common shape; -infinity for two of them, and
/// +infinity if either is; NaN if either is NaN. Throws TypeError for other dtypes or shapes. Differentiable to any
/// order; at two equal infinities the gradient goes to x1. numpy.logaddexp, torch.logaddexp, whose gradient there is
/// NaN. Of many along an axis: F::logsumexp.
KUSARI_API Variable logaddexp(const Variable& x1, const Variable& x2);

}  // namespace kusari::functions
