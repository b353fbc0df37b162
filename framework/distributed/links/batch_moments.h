#pragma once

#include "kusari/framework/autograd/variable.h"

namespace kusari::distributed {

/// Mean of x over the axes, and the sum of squared differences from it: two variables of the shape of x's other axes,
/// both 0 where x has no elements. x: floating. axis: not negative. dtype: float32 or float64, no narrower than x.
/// Differentiable to any order.
Variables batch_moments(const Variable& x, const Dims& axis, Dtype dtype);

/// x, whose gradient is multiplied by a number on its way back. Differentiable to any order.
Variable scale_gradient(const Variable& x, double factor);

}  // namespace kusari::distributed
