#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// x where condition holds, y elsewhere, element by element.
/// condition: bool. x, y: one dtype. All three shapes broadcast to the result's. Throws TypeError otherwise.
/// Differentiable to any order by x and y. chainer.functions.where.
KUSARI_API Variable where(const Variable& condition, const Variable& x, const Variable& y);

}  // namespace kusari::functions
