#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x times y, y's axes standing for x's from `axis` on: with axis 1, y (C) scales the channels.
/// x: any shape and dtype. y: of x's dtype, its shape that of x's axes from `axis` on. Returns the product like x.
/// Throws ValueError when the shapes do not fit, IndexError for an axis that x does not have, TypeError when the dtypes
/// differ. Differentiable to any order. chainer.functions.scale.
KUSARI_API Variable scale(const Variable& x, const Variable& y, int64_t axis = 1);

}  // namespace kusari::functions
