#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Copies of x side by side: [a, b] becomes [a, b, a, b].
/// x: any shape and dtype. reps: how many copies along each axis. If there are fewer numbers than axes, they are those
/// of the last axes; if there are more, x gets leading axes of size 1. Throws ValueError for a negative number
/// and for one that makes an axis of 2^63 or more.
/// Differentiable to any order. chainer.functions.tile.
KUSARI_API Variable tile(const Variable& x, std::span<const int64_t> reps);
inline Variable tile(const Variable& x, std::initializer_list<int64_t> reps) {
  return tile(x, std::span<const int64_t>(reps.begin(), reps.size()));
}
inline Variable tile(const Variable& x, int64_t reps) { return tile(x, std::span<const int64_t>(&reps, 1)); }

}  // namespace kusari::functions
