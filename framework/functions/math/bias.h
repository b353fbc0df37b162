#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x plus y, y's axes standing for x's from `axis` on: with axis 1, y (C) is added to the channels.
/// x: any shape and dtype. y: of x's dtype, its shape that of x's axes from `axis` on. Returns the sum like x.
/// Throws ValueError when the shapes do not fit, IndexError for an axis that x does not have, TypeError when the dtypes
/// differ. Differentiable to any order. chainer.functions.bias.
KUSARI_API Variable bias(const Variable& x, const Variable& y, int64_t axis = 1);

}  // namespace kusari::functions
