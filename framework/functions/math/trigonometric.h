#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Sine, of radians.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.sin.
KUSARI_API Variable sin(const Variable& x);

/// Cosine, of radians.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.cos.
KUSARI_API Variable cos(const Variable& x);

/// Tangent, of radians.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.tan.
KUSARI_API Variable tan(const Variable& x);

/// Arc sine in radians, in [-pi/2, pi/2]; NaN outside [-1, 1].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.arcsin.
KUSARI_API Variable arcsin(const Variable& x);

/// Arc cosine in radians, in [0, pi]; NaN outside [-1, 1].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.arccos.
KUSARI_API Variable arccos(const Variable& x);

/// Arc tangent in radians, in [-pi/2, pi/2].
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.arctan.
KUSARI_API Variable arctan(const Variable& x);

/// The angle in radians, in [-pi, pi], of the point with ordinate x1 and abscissa x2.
/// x1, x2: one floating dtype, shapes that broadcast. Throws TypeError otherwise. Differentiable to any order.
/// chainer.functions.arctan2.
KUSARI_API Variable arctan2(const Variable& x1, const Variable& x2);

}  // namespace kusari::functions
