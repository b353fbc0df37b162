#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The Hurwitz zeta function: the sum of (q + k)^-x for k = 0, 1, ...
/// x: any dtype, taken as a constant; at least 1, otherwise y is NaN. q: floating; infinite at 0 and negative integers,
/// NaN at other negative numbers unless x is integral. Their shapes broadcast. Returns y in the common shape and q's
/// dtype. Throws TypeError if q is not floating. Differentiable to any order with respect to q. chainer.functions.zeta.
KUSARI_API Variable zeta(const Variable& x, const Variable& q);
KUSARI_API Variable zeta(Scalar x, const Variable& q);

}  // namespace kusari::functions
