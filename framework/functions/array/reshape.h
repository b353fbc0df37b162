#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The elements of x in C order under another shape; a view where x's strides allow it.
/// x: any shape and dtype. shape: as many elements; one size may be -1 (inferred). Returns x itself when the shapes are
/// equal. Throws TypeError when the sizes do not match. Differentiable to any order. chainer.functions.reshape.
KUSARI_API Variable reshape(const Variable& x, const Shape& shape);

/// All elements of x in C order on one axis. Differentiable to any order. chainer.functions.flatten.
KUSARI_API Variable flatten(const Variable& x);

}  // namespace kusari::functions
