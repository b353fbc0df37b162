#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// `value` where mask holds, x elsewhere.
/// x: any shape and dtype. mask: bool, of a shape that broadcasts to x's. value: a number; beside integers an integer.
/// Returns y like x. Throws TypeError for another mask or a value that is no integer beside integers, ValueError for an
/// integer that the dtype does not hold. Differentiable to any order by x where x is floating; what is filled gets 0,
/// also where x is NaN or infinite. torch.Tensor.masked_fill; where the value is an array: F::where.
KUSARI_API Variable masked_fill(const Variable& x, const Variable& mask, Scalar value);

}  // namespace kusari::functions
