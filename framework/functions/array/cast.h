#pragma once

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/autograd/variable.h"

namespace kusari::functions {

/// x with its elements converted to `dtype`.
/// x: any shape and dtype. Returns x itself when it has that dtype. Differentiable to any order between floating
/// dtypes, with the gradient in x's dtype. chainer.functions.cast.
inline Variable cast(const Variable& x, Dtype dtype) { return autograd::cast(x, dtype); }

}  // namespace kusari::functions
