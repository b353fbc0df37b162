#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Penalty on the covariances of different features over a batch: half the sum of the squares of
/// C = (h - mean(h))^T (h - mean(h)) / N without its diagonal.
/// h: (N, M), floating. Returns a scalar, or with CovarianceReduce::no C with zeros on its diagonal: (M, M). Throws
/// TypeError for another h. Differentiable to any order. Cogswell et al. 2016; chainer.functions.decov.
KUSARI_API Variable decov(const Variable& h, CovarianceReduce reduce = CovarianceReduce::half_squared_sum);

}  // namespace kusari::functions
