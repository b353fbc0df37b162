#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Arrays joined horizontally: along axis 1, or axis 0 for arrays of one axis. Scalars count as arrays of one element.
/// xs: at least one; one dtype, shapes that fit. Throws ValueError without arguments, TypeError when dtypes or shapes
/// do not go together. Differentiable to any order. chainer.functions.hstack.
KUSARI_API Variable hstack(std::span<const Variable> xs);
inline Variable hstack(std::initializer_list<Variable> xs) {
  return hstack(std::span<const Variable>(xs.begin(), xs.size()));
}

/// Arrays joined vertically: along axis 0, arrays of one axis being rows.
/// xs: at least one; one dtype, shapes that fit. Throws ValueError without arguments, TypeError when dtypes or shapes
/// do not go together. Differentiable to any order. chainer.functions.vstack.
KUSARI_API Variable vstack(std::span<const Variable> xs);
inline Variable vstack(std::initializer_list<Variable> xs) {
  return vstack(std::span<const Variable>(xs.begin(), xs.size()));
}

/// Arrays joined depth-wise: along axis 2, (n) counting as (1, n, 1) and (m, n) as (m, n, 1).
/// xs: at least one; one dtype, shapes that fit. Throws ValueError without arguments, TypeError when dtypes or shapes
/// do not go together. Differentiable to any order. chainer.functions.dstack.
KUSARI_API Variable dstack(std::span<const Variable> xs);
inline Variable dstack(std::initializer_list<Variable> xs) {
  return dstack(std::span<const Variable>(xs.begin(), xs.size()));
}

}  // namespace kusari::functions
