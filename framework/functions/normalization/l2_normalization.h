#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// By name: F::normalize(x, {.axis = {1, 2}}).
struct NormalizeOptions {
  double eps = 1e-5;
  Axes axis = 1;
};

/// Vectors of length 1: y = x / (|x| + eps), |x| being the L2 norm along axes.
/// x: floating. eps: added to the norm, so that zero vectors stay zero. axis: one axis or several, over which the norm
/// is taken together. Returns y like x; the norm is computed in float64. Throws TypeError if x is not
/// floating, IndexError for an axis that x does not have. Differentiable to any order; derivatives of the norm at zero
/// vectors count as 0. chainer.functions.normalize.
KUSARI_API Variable normalize(const Variable& x, double eps = 1e-5, const Axes& axis = 1);
inline Variable normalize(const Variable& x, const NormalizeOptions& options) {
  return normalize(x, options.eps, options.axis);
}

}  // namespace kusari::functions
