#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Arrays one after another along an axis.
/// xs: at least one; one dtype, equal shapes but for `axis`. axis: negative ones count from the end. Returns an array
/// whose size along the axis is the sum of theirs. Throws ValueError without arguments, IndexError for an axis out of
/// range, TypeError when dtypes or shapes do not go together. Differentiable to any order. chainer.functions.concat.
KUSARI_API Variable concat(std::span<const Variable> xs, int64_t axis = 1);
inline Variable concat(std::initializer_list<Variable> xs, int64_t axis = 1) {
  return concat(std::span<const Variable>(xs.begin(), xs.size()), axis);
}

}  // namespace kusari::functions
