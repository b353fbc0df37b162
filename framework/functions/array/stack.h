#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Arrays side by side along a new axis.
/// xs: at least one; equal shapes and dtypes. axis: of the result, negative ones counting from the end. Throws
/// ValueError without arguments, IndexError for an axis out of range, TypeError when dtypes or shapes differ.
/// Differentiable to any order. chainer.functions.stack.
KUSARI_API Variable stack(std::span<const Variable> xs, int64_t axis = 0);
inline Variable stack(std::initializer_list<Variable> xs, int64_t axis = 0) {
  return stack(std::span<const Variable>(xs.begin(), xs.size()), axis);
}

}  // namespace kusari::functions
