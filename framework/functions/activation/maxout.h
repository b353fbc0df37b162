#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The largest of pool_size neighbours along an axis.
/// x: floating. pool_size: divides the axis. axis: negative ones count from the end. Returns y of x's dtype, pool_size
/// times shorter along the axis. Throws ValueError when pool_size does not divide the axis, TypeError if x is not
/// floating, IndexError for an axis that x does not have. Differentiable to any order; elements that tie get the whole
/// gradient each. Goodfellow et al. 2013; chainer.functions.maxout.
KUSARI_API Variable maxout(const Variable& x, int64_t pool_size, int64_t axis = 1);

}  // namespace kusari::functions
