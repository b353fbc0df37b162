#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = exp(x) / sum(exp(x)) along an axis, safe from overflow.
/// x: floating, with that axis; negative axes count from the end. Returns y like x, half types computed in float32.
/// Throws TypeError if x is not floating, IndexError for an axis that x does not have. Differentiable to any order.
/// chainer.functions.softmax.
KUSARI_API Variable softmax(const Variable& x, int64_t axis = 1);

}  // namespace kusari::functions
