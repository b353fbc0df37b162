#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Blocks of r x r pixels moved into channels, the inverse of depth2space: y[n, (a, b, c), i, j] = X[n, c, r i + a,
/// r j + b].
/// X: (N, C, r H, r W), floating. r: at least 1. Returns y: (N, r r C, H, W) of X's dtype, channels-last in memory.
/// Throws TypeError when X does not fit, ValueError when r is not positive or does not divide height and width.
/// Differentiable to any order. chainer.functions.space2depth.
KUSARI_API Variable space2depth(const Variable& X, int64_t r);

}  // namespace kusari::functions
