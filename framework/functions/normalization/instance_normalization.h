#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct InstanceNormalizationOptions {
  double eps = 1e-5;  ///< added to the variances
};

/// Normalization of each channel of each example: y = gamma (x - mean) / sqrt(variance + eps) + beta, with the mean and
/// the biased variance of the channel's image.
/// x: (N, C, in...), floating, with one or more spatial axes. gamma, beta: (C), of one floating dtype, which need not
/// be x's. Returns y like x, images with the channels innermost in memory. Statistics are computed in float64 and
/// applied in float32 at least. Throws TypeError when shapes or dtypes do not fit, ValueError if eps is negative.
/// Differentiable to any order. Ulyanov et al. 2016; torch.nn.functional.instance_norm; Chainer has group_normalization
/// with as many groups as channels.
KUSARI_API Variable instance_normalization(const Variable& x, const Variable& gamma, const Variable& beta,
                                           const InstanceNormalizationOptions& options = {});

}  // namespace kusari::functions
