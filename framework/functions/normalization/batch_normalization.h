#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::batch_normalization and its fused forms.
struct BatchNormalizationOptions {
  double eps = 2e-5;        ///< added to the variances
  Array running_mean = {};  ///< of gamma's shape, updated in place: decay running + (1 - decay) batch
  Array running_var = {};   ///< the same with the unbiased variance of the batch
  double decay = 0.9;       ///< of the running statistics
  Dims axis = {};           ///< the axes that are averaged over; empty: the first and those behind gamma's
  Array sums = {};          ///< what convolution_nd_with_sums gave beside x, so that x is read once; may be undefined
};

/// Normalization by the statistics of the batch: y = gamma (x - mean) / sqrt(var + eps) + beta, mean and (biased) var
/// being those of x over the aggregated axes.
/// x: (N, C, ...), floating, of any shape with at least one aggregated axis. gamma, beta: the shape of x's other axes,
/// (C) by default, of one floating dtype, which may be wider than x's: statistics are float32 at least. Returns y:
/// shape and dtype of x. The running arrays stay as they are while config.in_recomputing. Logs a warning when the
/// aggregated axes all have length 1, because y is then beta whatever x.
/// Throws TypeError when shapes or dtypes do not fit, ValueError for an eps below 0, IndexError for a wrong axis.
/// Differentiable to any order, also through mean and var. Ioffe and Szegedy 2015;
/// chainer.functions.batch_normalization.
KUSARI_API Variable batch_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                        const BatchNormalizationOptions& options = {});

/// relu(batch_normalization(x, ...)) in one pass over the memory.
KUSARI_API Variable batch_normalization_relu(const Variable& x, const Variable& gamma, const Variable& beta,
                                             const BatchNormalizationOptions& options = {});

/// relu(batch_normalization(x, ...) + residual) in one pass over the memory. residual: shape and dtype of x.
KUSARI_API Variable batch_normalization_add_relu(const Variable& x, const Variable& residual, const Variable& gamma,
                                                 const Variable& beta, const BatchNormalizationOptions& options = {});

/// Options of F::fixed_batch_normalization and its fused forms.
struct FixedBatchNormalizationOptions {
  double eps = 2e-5;  ///< added to the variances
  Dims axis = {};     ///< the axes that gamma lacks; empty: the first and those behind gamma's
};

/// Normalization by given statistics: y = gamma (x - mean) / sqrt(var + eps) + beta.
/// x, gamma, beta as in batch_normalization; mean, var: like gamma. Returns y: shape and dtype of x. Throws as
/// batch_normalization does. Differentiable to any order, with respect to mean and var too.
/// chainer.functions.fixed_batch_normalization.
KUSARI_API Variable fixed_batch_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                              const Variable& mean, const Variable& var,
                                              const FixedBatchNormalizationOptions& options = {});

/// relu(fixed_batch_normalization(x, ...)) in one pass over the memory.
KUSARI_API Variable fixed_batch_normalization_relu(const Variable& x, const Variable& gamma, const Variable& beta,
                                                   const Variable& mean, const Variable& var,
                                                   const FixedBatchNormalizationOptions& options = {});

/// relu(fixed_batch_normalization(x, ...) + residual) in one pass over the memory. residual: shape and dtype of x.
KUSARI_API Variable fixed_batch_normalization_add_relu(const Variable& x, const Variable& residual,
                                                       const Variable& gamma, const Variable& beta,
                                                       const Variable& mean, const Variable& var,
                                                       const FixedBatchNormalizationOptions& options = {});

}  // namespace kusari::functions
