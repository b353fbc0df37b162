#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// y = ln ndtr(x), also where ndtr(x) would be 0 or 1.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// chainer.functions.log_ndtr.
KUSARI_API Variable log_ndtr(const Variable& x);

}  // namespace kusari::functions
