#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Fraction of labels that the sign of the score predicts: 1 for y >= 0, else 0.
/// y: any shape, floating. t: y's shape, integers 0, 1, or -1 for labels that do not count. Returns a scalar of y's
/// dtype, 0 when no label counts. Throws TypeError when shapes or dtypes do not fit. Not differentiable.
/// chainer.functions.binary_accuracy.
KUSARI_API Variable binary_accuracy(const Variable& y, const Variable& t);

}  // namespace kusari::functions
