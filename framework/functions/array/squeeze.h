#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Drops axes of size 1: all of them, or those named; a view.
/// x: any shape and dtype. axes: negative ones count from the end. Throws IndexError for an axis that x does not have,
/// TypeError for one whose size is not 1. Differentiable to any order. chainer.functions.squeeze.
KUSARI_API Variable squeeze(const Variable& x);
KUSARI_API Variable squeeze(const Variable& x, std::span<const int64_t> axes);
KUSARI_API Variable squeeze(const Variable& x, std::initializer_list<int64_t> axes);
KUSARI_API Variable squeeze(const Variable& x, int64_t axis);

}  // namespace kusari::functions
