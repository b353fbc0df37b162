#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Contrastive loss of pairs: (y d^2 + (1 - y) max(margin - d, 0)^2) / 2 with d = |x0 - x1|.
/// x0, x1: (N, K), N > 0, one floating dtype. y: (N), integers: 1 for pairs that are alike, 0 for others. margin:
/// positive. Returns the mean over the pairs, their sum or (N). Throws ValueError for another margin, TypeError when
/// shapes or dtypes do not fit. Differentiable to any order by x0 and x1, with a derivative of 0 where they are equal.
/// Chopra et al. 2005; chainer.functions.contrastive.
KUSARI_API Variable contrastive(const Variable& x0, const Variable& x1, const Variable& y, double margin = 1,
                                Reduce reduce = Reduce::mean);

}  // namespace kusari::functions
