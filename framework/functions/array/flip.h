#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x with the elements of an axis in reverse order; a view.
/// x: any dtype. axis: negative ones count from the end. Throws IndexError for an axis that x does not have.
/// Differentiable to any order. chainer.functions.flip.
KUSARI_API Variable flip(const Variable& x, int64_t axis);

/// flip along axis 1. chainer.functions.fliplr.
inline Variable fliplr(const Variable& a) { return flip(a, 1); }

/// flip along axis 0. chainer.functions.flipud.
inline Variable flipud(const Variable& a) { return flip(a, 0); }

}  // namespace kusari::functions
