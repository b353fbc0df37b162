#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The regularized incomplete beta function I_x(a, b): the share of a beta distribution of a and b below x.
/// a, b, x: one floating dtype, shapes that broadcast; a, b positive and x in [0, 1], otherwise y is NaN. Returns y in
/// the common shape, computed in float64. Throws TypeError when they do not fit. Differentiable to any order by x, once
/// by a and b: a second derivative by these throws StateError. scipy.special.betainc.
KUSARI_API Variable betainc(const Variable& a, const Variable& b, const Variable& x);

/// The inverse of betainc by x: below which number the share p of a beta distribution of a and b lies.
/// a, b, p: one floating dtype, shapes that broadcast; a, b positive and finite, p in [0, 1], otherwise x is NaN.
/// Returns x in the common shape, computed in float64. Throws TypeError when they do not fit. Differentiable to any
/// order by p, once by a and b: a second derivative by these throws StateError. scipy.special.betaincinv.
KUSARI_API Variable betaincinv(const Variable& a, const Variable& b, const Variable& p);

}  // namespace kusari::functions
