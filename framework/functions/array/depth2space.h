#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Channels moved into blocks of r x r pixels (sub-pixel convolution): y[n, c, r i + a, r j + b] = X[n, (a, b, c), i,
/// j]. X: (N, r r C, H, W), floating. r: at least 1. Returns y: (N, C, r H, r W) of X's dtype, channels-last in memory.
/// Throws TypeError when X does not fit, ValueError when r is not positive or r r does not divide the channels.
/// Differentiable to any order. Shi et al. 2016, https://arxiv.org/abs/1609.05158; chainer.functions.depth2space.
KUSARI_API Variable depth2space(const Variable& X, int64_t r);

}  // namespace kusari::functions
