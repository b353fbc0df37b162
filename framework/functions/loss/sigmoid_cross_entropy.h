#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Options of F::sigmoid_cross_entropy, in Chainer's order.
struct SigmoidCrossEntropyOptions {
  bool normalize = true;         ///< divide by the number of labels that count; otherwise by the batch size
  Reduce reduce = Reduce::mean;  ///< mean, or no
};

/// Cross entropy of sigmoid(x) against binary labels: -t log p - (1 - t) log(1 - p), averaged over those that count.
/// x: any shape, floating: scores. t: x's shape, integers 0, 1, or -1 for labels that do not count. Returns a scalar of
/// x's dtype, or with Reduce::no one loss per label; half types are computed in float32. Throws TypeError when shapes
/// or dtypes do not fit. Differentiable to any order by x. chainer.functions.sigmoid_cross_entropy.
KUSARI_API Variable sigmoid_cross_entropy(const Variable& x, const Variable& t,
                                          const SigmoidCrossEntropyOptions& options = {});

}  // namespace kusari::functions
