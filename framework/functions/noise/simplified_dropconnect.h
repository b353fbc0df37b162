#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::simplified_dropconnect.
struct SimplifiedDropconnectOptions {
  double ratio = 0.5;              ///< probability that a weight is dropped, in [0, 1)
  bool train = true;               ///< false: nothing is dropped; config.train does not matter
  Array mask = Array();            ///< which weights stay: (N, M, K) or (M, K), instead of drawing them
  bool use_batchwise_mask = true;  ///< whether each example has a mask of its own; a given mask's shape decides itself
};

/// Linear unit y = x W^T + b some of whose weights are zero at random, the others scaled by 1 / (1 - ratio).
/// x: (N, ...), its axes after the first flattened to K, floating. W: (M, K), floating. b: (M) of x's dtype, or
/// undefined. Returns (N, M) of x's dtype. Needs memory for N M K weights. Throws ValueError for another ratio,
/// TypeError when shapes or dtypes do not fit. Differentiable to any order. Wan et al. 2013;
/// chainer.functions.simplified_dropconnect.
KUSARI_API Variable simplified_dropconnect(const Variable& x, const Variable& W, const Variable& b = Variable(),
                                           const SimplifiedDropconnectOptions& options = {});

}  // namespace kusari::functions
