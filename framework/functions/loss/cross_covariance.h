#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Penalty on the covariances of two groups of features over a batch: half the sum of the squares of
/// C = (y - mean(y))^T (z - mean(z)) / N.
/// y: (N, L), z: (N, M), one floating dtype. Returns a scalar, or with CovarianceReduce::no C itself: (L, M). Throws
/// TypeError when shapes or dtypes do not fit. Differentiable to any order. Cheung et al. 2014;
/// chainer.functions.cross_covariance.
KUSARI_API Variable cross_covariance(const Variable& y, const Variable& z,
                                     CovarianceReduce reduce = CovarianceReduce::half_squared_sum);

}  // namespace kusari::functions
