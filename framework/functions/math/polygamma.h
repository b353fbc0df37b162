#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The n-th derivative of digamma; n = 0 is digamma itself.
/// n: integral and at least 0, otherwise y is NaN. x: floating; NaN or infinite at 0 and negative integers. Their
/// shapes broadcast. Returns y in the common shape and x's dtype. Throws TypeError otherwise. Differentiable to any
/// order with respect to x. chainer.functions.polygamma.
KUSARI_API Variable polygamma(const Variable& n, const Variable& x);
KUSARI_API Variable polygamma(int64_t n, const Variable& x);

}  // namespace kusari::functions
