#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Hyperbolic sine.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.sinh.
KUSARI_API Variable sinh(const Variable& x);

/// Hyperbolic cosine.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.cosh.
KUSARI_API Variable cosh(const Variable& x);

/// Inverse hyperbolic sine.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// numpy.arcsinh (Chainer has none).
KUSARI_API Variable arcsinh(const Variable& x);

/// Inverse hyperbolic cosine; NaN below 1.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// numpy.arccosh (Chainer has none).
KUSARI_API Variable arccosh(const Variable& x);

/// Inverse hyperbolic tangent; NaN outside [-1, 1].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.arctanh.
KUSARI_API Variable arctanh(const Variable& x);

}  // namespace kusari::functions
