#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = ln(1 + x), exact for small x.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.log1p.
KUSARI_API Variable log1p(const Variable& x);

}  // namespace kusari::functions
