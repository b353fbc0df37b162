#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// relu(x) and relu(-x), one after the other along an axis.
/// x: floating, with that axis; negative axes count from the end. Returns y of x's dtype, twice as long along the axis.
/// Throws TypeError if x is not floating, IndexError for an axis that x does not have. Differentiable to any order.
/// Shang et al. 2016; chainer.functions.crelu.
KUSARI_API Variable crelu(const Variable& x, int64_t axis = 1);

}  // namespace kusari::functions
