#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Exponential: y = e^x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.exp.
KUSARI_API Variable exp(const Variable& x);

/// Natural logarithm: y = ln x; NaN for x < 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.log.
KUSARI_API Variable log(const Variable& x);

/// Binary logarithm: y = log2 x; NaN for x < 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.log2.
KUSARI_API Variable log2(const Variable& x);

/// Decimal logarithm: y = log10 x; NaN for x < 0.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.log10.
KUSARI_API Variable log10(const Variable& x);

}  // namespace kusari::functions
