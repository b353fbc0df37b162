#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = |x0 - x1|, element by element.
/// x0, x1: one shape and floating dtype. Returns y like them. Throws TypeError otherwise.
/// Differentiable to any order, with derivative 0 where x0 = x1. chainer.functions.absolute_error.
KUSARI_API Variable absolute_error(const Variable& x0, const Variable& x1);

}  // namespace kusari::functions
