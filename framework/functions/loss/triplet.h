#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// Triplet loss: max(|anchor - positive|^2 - |anchor - negative|^2 + margin, 0), the squares added up over axis 1.
/// anchor, positive, negative: (N, K), or with further axes, N > 0, one shape and floating dtype. margin: positive.
/// Returns the sum of the losses divided by N, their sum, or all of them: (N). Throws ValueError for another margin,
/// TypeError when shapes or dtypes do not fit. Differentiable to any order, with derivative 0 at the margin. Wang et
/// al. 2014; chainer.functions.triplet.
KUSARI_API Variable triplet(const Variable& anchor, const Variable& positive, const Variable& negative,
                            double margin = 0.2, Reduce reduce = Reduce::mean);

}  // namespace kusari::functions
