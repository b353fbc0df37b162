#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Normalization within groups of channels: y = gamma (x - mean) / sqrt(variance + eps) + beta, with the mean and the
/// biased variance of each group of each example. groups = C is instance normalization.
/// x: (N, C, ...), floating. groups: divides C. gamma, beta: (C), of one floating dtype, which need not be x's. Returns
/// y like x, images with the channels innermost in memory. Statistics are computed in float64 and applied in float32 at
/// least. Throws TypeError when shapes or dtypes do not fit, ValueError when groups does not divide C. Differentiable
/// to any order. Wu and He 2018; chainer.functions.group_normalization.
KUSARI_API Variable group_normalization(const Variable& x, int64_t groups, const Variable& gamma, const Variable& beta,
                                        double eps = 1e-5);

}  // namespace kusari::functions
