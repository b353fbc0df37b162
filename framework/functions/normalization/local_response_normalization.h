#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of local_response_normalization.
struct LocalResponseNormalizationOptions {
  int64_t n = 5;        ///< width of the window: n / 2 channels on either side, so that an even n counts n + 1
  double k = 2;         ///< added to the sum
  double alpha = 1e-4;  ///< factor of the sum, not divided by n
  double beta = 0.75;   ///< power
};

/// Normalization across neighbouring channels: y[c] = x[c] / (k + alpha sum(x[j]^2))^beta, the sum running over the
/// channels j with |j - c| <= n / 2.
/// x: (N, C, ...), floating. Returns y like x, images with the channels innermost in memory; half types are computed in
/// float32. Throws TypeError when x is not floating or has no channels, ValueError when n is below 1. Differentiable to
/// any order. Krizhevsky et al. 2012; chainer.functions.local_response_normalization.
KUSARI_API Variable local_response_normalization(const Variable& x,
                                                 const LocalResponseNormalizationOptions& options = {});

}  // namespace kusari::functions
