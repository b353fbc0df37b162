#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Normalization of vectors: y = gamma (x - mean) / sqrt(variance + eps) + beta, with the mean and the biased variance
/// of each row.
/// x: (N, C), floating. gamma, beta: (C), of one floating dtype, which need not be x's. Returns y like x. Statistics
/// are computed in float64 and applied in float32 at least. Throws TypeError when shapes or dtypes do not fit.
/// Differentiable to any order. Ba et al. 2016; chainer.functions.layer_normalization.
KUSARI_API Variable layer_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                        double eps = 1e-5);

}  // namespace kusari::functions
