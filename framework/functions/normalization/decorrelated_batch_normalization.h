#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::decorrelated_batch_normalization.
struct DecorrelatedBatchNormalizationOptions {
  int64_t groups = 16;            ///< channels are whitened in groups of C / groups
  double eps = 2e-5;              ///< added to the diagonal of the covariances
  Array running_mean = {};        ///< (groups, C / groups), updated in place: decay running + (1 - decay) batch
  Array running_projection = {};  ///< (groups, C / groups, C / groups), the same with the unbiased projection
  double decay = 0.9;             ///< of the running statistics
};

/// Whitening by the statistics of the batch: y = P (x - mean) within each group of channels, where P = cov^(-1/2) is
/// the symmetric root (ZCA) of the covariance of the group over the batch and all positions, plus eps on its diagonal.
/// x: (N, C, ...), floating; half types are computed in float32. Returns y: shape and dtype of x. The running arrays
/// stay as they are while config.in_recomputing. Throws TypeError if x is not floating or has no axis 1, ValueError
/// when groups do not divide C or a running array has another shape. Differentiable to any order, also through mean and
/// P. Huang et al. 2018; chainer.functions.decorrelated_batch_normalization.
KUSARI_API Variable decorrelated_batch_normalization(const Variable& x,
                                                     const DecorrelatedBatchNormalizationOptions& options = {});

/// Whitening by given statistics: y = projection (x - mean) within each group of channels.
/// x: (N, C, ...), floating. mean: (groups, C / groups) and projection: (groups, C / groups, C / groups), of x's dtype.
/// Returns y: shape and dtype of x. Throws TypeError when shapes or dtypes do not fit, ValueError when groups do not
/// divide C. Differentiable to any order, with respect to mean and projection too.
/// chainer.functions.fixed_decorrelated_batch_normalization.
KUSARI_API Variable fixed_decorrelated_batch_normalization(const Variable& x, const Variable& mean,
                                                           const Variable& projection, int64_t groups = 16);

}  // namespace kusari::functions
