#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"

namespace kusari::functions {

/// Options of F::batch_renormalization.
struct BatchRenormalizationOptions {
  double rmax = 1;                 ///< largest correction of the deviation, at least 1
  double dmax = 0;                 ///< largest correction of the mean, in deviations
  double eps = 2e-5;               ///< added to the variances
  Array running_mean = {};         ///< of gamma's shape; needed
  Array running_var = {};          ///< of gamma's shape; needed
  double decay = 0.9;              ///< of the running statistics
  bool update_statistics = false;  ///< whether the running arrays are updated in place, as batch_normalization does
};

/// Batch normalization with a correction towards the running statistics: y = gamma ((x - mean) / sd r + d) + beta with
/// sd = sqrt(var + eps), r = sd / running_sd limited to [1 / rmax, rmax] and d = (mean - running_mean) / running_sd
/// limited to [-dmax, dmax]; r and d count as constants.
/// x, gamma, beta: as in batch_normalization. Returns y: shape and dtype of x. Throws TypeError when shapes or dtypes
/// do not fit, ValueError without running statistics and for limits out of range. Differentiable to any order. Ioffe
/// 2017; chainer.functions.batch_renormalization.
KUSARI_API Variable batch_renormalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                          const BatchRenormalizationOptions& options);

/// Chainer's deprecated other name of fixed_batch_normalization. chainer.functions.fixed_batch_renormalization.
inline Variable fixed_batch_renormalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                            const Variable& mean, const Variable& var, double eps = 2e-5) {
  return fixed_batch_normalization(x, gamma, beta, mean, var, {.eps = eps});
}

}  // namespace kusari::functions
