#pragma once

#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Repeats axes of size 1 and adds leading axes until x has the given shape, without copying elements.
/// x: any shape that broadcasts to `shape` by NumPy's rules, any dtype. Returns x itself when the shapes are equal.
/// Throws TypeError when x does not broadcast to `shape`. Differentiable to any order.
/// chainer.functions.broadcast_to.
KUSARI_API Variable broadcast_to(const Variable& x, const Shape& shape);

/// Broadcasts all arguments to their common shape.
/// xs: shapes that go together by NumPy's rules. Returns one variable per argument.
/// Throws TypeError when the shapes do not go together. Differentiable to any order. chainer.functions.broadcast.
KUSARI_API Variables broadcast(std::span<const Variable> xs);
template <class... Xs>
Variables broadcast(const Variable& x, const Xs&... more) {
  const Variable xs[] = {x, more...};
  return broadcast(std::span<const Variable>(xs));
}

}  // namespace kusari::functions
