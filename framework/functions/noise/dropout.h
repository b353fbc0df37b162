#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::dropout.
struct DropoutOptions {
  Array mask = Array();          ///< factors to use instead of drawing them, of x's shape
  Array* return_mask = nullptr;  ///< where to leave the factors used; undefined when nothing was dropped
};

/// Sets elements to zero at random and scales the others by 1 / (1 - ratio); x itself unless config.train.
/// x: any shape, floating. ratio: probability of a zero, in [0, 1). Returns y like x. Throws ValueError for another
/// ratio, TypeError if x is not floating or the mask has another shape. Differentiable to any order. Srivastava et al.
/// 2014; chainer.functions.dropout.
KUSARI_API Variable dropout(const Variable& x, double ratio = 0.5, const DropoutOptions& options = {});

}  // namespace kusari::functions
