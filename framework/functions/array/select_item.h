#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// One element of each row: y[i] = x[i, t[i]].
/// x: (N, C), any dtype. t: (N), integers; negative ones count from the end. Returns (N) of x's dtype. Throws TypeError
/// when shapes or dtypes do not fit, IndexError for an index out of range. Differentiable to any order by x.
/// chainer.functions.select_item.
KUSARI_API Variable select_item(const Variable& x, const Variable& t);

}  // namespace kusari::functions
