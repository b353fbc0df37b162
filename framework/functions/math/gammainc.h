#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The regularized lower incomplete gamma function: the share of a gamma distribution of shape a and scale 1 below x.
/// a, x: one floating dtype, shapes that broadcast; not negative, otherwise y is NaN. Returns y in the common shape,
/// computed in float64. Throws TypeError when they do not fit. Differentiable to any order by x, to the second by a;
/// a third derivative by a throws StateError. scipy.special.gammainc, torch.special.gammainc.
KUSARI_API Variable gammainc(const Variable& a, const Variable& x);

/// The upper one, 1 - gammainc(a, x), exact where that is small; otherwise like gammainc. scipy.special.gammaincc.
KUSARI_API Variable gammaincc(const Variable& a, const Variable& x);

/// The inverse of gammainc by x: below which number the share p of a gamma distribution of shape a and scale 1 lies.
/// a, p: one floating dtype, shapes that broadcast; a positive and finite, p in [0, 1], otherwise x is NaN. Returns x
/// in the common shape, computed in float64; infinite for p = 1. Throws TypeError when they do not fit. Differentiable
/// twice; a third derivative by a throws StateError. scipy.special.gammaincinv.
KUSARI_API Variable gammaincinv(const Variable& a, const Variable& p);

}  // namespace kusari::functions
