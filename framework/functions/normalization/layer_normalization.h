#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// By name: F::layer_normalization(x, gamma, beta, {.eps = 1e-6, .axis = {1, 2}}).
struct LayerNormalizationOptions {
  ByName by_name = {};
  double eps = 1e-5;         ///< added to the variances
  Axes axis = std::nullopt;  ///< what is normalized together; std::nullopt: as many last axes as gamma has
};

/// Normalization of vectors: y = gamma (x - mean) / sqrt(variance + eps) + beta, with the mean and the biased variance
/// over the last axes of x, as many as gamma has: each row of (N, C) for gamma (C), each example of (N, C, H, W) for
/// gamma (C, H, W).
/// x: any shape, floating. gamma, beta: the sizes of those axes, of one floating dtype, which need not be x's. Returns
/// y like x. Statistics are computed in float64 and applied in float32 at least. Throws TypeError when shapes or dtypes
/// do not fit, ValueError for a negative eps. Differentiable to any order. Ba et al. 2016;
/// chainer.functions.layer_normalization, which takes (N, C) alone.
KUSARI_API Variable layer_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                        double eps = 1e-5);
/// The same over any axes, whose sizes gamma and beta have in the order of x. Throws IndexError for an axis that x does
/// not have, ValueError for one that comes twice or for none.
KUSARI_API Variable layer_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                        const LayerNormalizationOptions& options);

}  // namespace kusari::functions
