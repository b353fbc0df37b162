#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The slices of x along an axis, without that axis; they are views of x.
/// x: any dtype, at least one axis. axis: negative ones count from the end. Returns as many variables as the axis is
/// long. Throws IndexError for an axis out of range. Differentiable to any order. chainer.functions.separate.
KUSARI_API Variables separate(const Variable& x, int64_t axis = 0);

}  // namespace kusari::functions
