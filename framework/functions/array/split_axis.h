#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Cuts x into consecutive pieces along an axis; they are views of x.
/// x: any shape and dtype. sections: number of equal pieces, which must divide the axis; or indices: where pieces
/// begin, {2, 5} giving [0, 2), [2, 5) and [5, end), each limited to the axis. axis: negative ones count from the end.
/// Throws IndexError for an axis out of range, ValueError when the sections do not divide it or the indices fall.
/// Differentiable to any order. chainer.functions.split_axis.
KUSARI_API Variables split_axis(const Variable& x, int64_t sections, int64_t axis);
KUSARI_API Variables split_axis(const Variable& x, std::span<const int64_t> indices, int64_t axis);
inline Variables split_axis(const Variable& x, std::initializer_list<int64_t> indices, int64_t axis) {
  return split_axis(x, std::span<const int64_t>(indices.begin(), indices.size()), axis);
}

}  // namespace kusari::functions
