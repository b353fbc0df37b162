#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Loss that tells the label of each example from a few drawn ones: -log p(t) - sum_n log(1 - p(n)), p being the
/// softmax of x . W[k] over the label and the drawn ones. x: (N, D), W: (V, D), floating. t: (N), integers in [0, V).
/// samples: (N, S), integers in [0, V). Returns the mean, a scalar of x's dtype, or (N) with Reduce::no; 16-bit types
/// are computed in float32. Negative labels and samples count from the end. Throws TypeError when shapes or dtypes do
/// not fit, IndexError for a label or sample out of range. Differentiable to any order by x and W. Ji et al. 2016;
/// chainer.functions.black_out.
KUSARI_API Variable black_out(const Variable& x, const Variable& t, const Variable& W, const Variable& samples,
                              Reduce reduce = Reduce::mean);

}  // namespace kusari::functions
