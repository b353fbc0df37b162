#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Kullback-Leibler divergence of a diagonal Gaussian from the standard one: (mean^2 + exp(ln_var) - ln_var - 1) / 2.
/// mean, ln_var: one shape and floating dtype. Returns the sum (default), the mean or one term per element. Throws
/// TypeError when shapes or dtypes differ. Differentiable to any order. chainer.functions.gaussian_kl_divergence.
KUSARI_API Variable gaussian_kl_divergence(const Variable& mean, const Variable& ln_var, Reduce reduce = Reduce::sum);

/// Negative log-likelihood of x under independent Bernoulli distributions: softplus(y) - x y.
/// x: values in [0, 1]. y: x's shape and floating dtype: logits. Returns the sum (default), the mean or one term per
/// element. Throws TypeError when shapes or dtypes differ. Differentiable to any order.
/// chainer.functions.bernoulli_nll.
KUSARI_API Variable bernoulli_nll(const Variable& x, const Variable& y, Reduce reduce = Reduce::sum);

/// Negative log-likelihood of x under a diagonal Gaussian.
/// x, mean, ln_var: one shape and floating dtype. Returns the sum (default), the mean or one term per element. Throws
/// TypeError when shapes or dtypes differ. Differentiable to any order. chainer.functions.gaussian_nll.
KUSARI_API Variable gaussian_nll(const Variable& x, const Variable& mean, const Variable& ln_var,
                                 Reduce reduce = Reduce::sum);

}  // namespace kusari::functions
