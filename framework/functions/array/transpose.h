#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Permutes the axes: axis i of the result is axis axes[i] of x. A view.
/// x: any shape and dtype. axes: a permutation of x's axes, negative ones counting from the end; without axes the order
/// is reversed. Throws ValueError when axes is no permutation. Differentiable to any order.
/// chainer.functions.transpose.
KUSARI_API Variable transpose(const Variable& x);
KUSARI_API Variable transpose(const Variable& x, std::span<const int64_t> axes);
inline Variable transpose(const Variable& x, std::initializer_list<int64_t> axes) {
  return transpose(x, std::span<const int64_t>(axes.begin(), axes.size()));
}

/// Exchanges two axes; a view. Throws IndexError for an axis that x does not have. Differentiable to any order.
/// chainer.functions.swapaxes.
KUSARI_API Variable swapaxes(const Variable& x, int64_t axis1, int64_t axis2);

/// Moves axes to other places, the rest staying in order; a view.
/// source, destination: axes of x and of the result, one to one. Throws IndexError for an axis out of range, ValueError
/// when the two differ in number or an axis repeats. Differentiable to any order. chainer.functions.moveaxis.
KUSARI_API Variable moveaxis(const Variable& x, std::span<const int64_t> source, std::span<const int64_t> destination);
inline Variable moveaxis(const Variable& x, int64_t source, int64_t destination) {
  return moveaxis(x, std::span<const int64_t>(&source, 1), std::span<const int64_t>(&destination, 1));
}

/// Moves `axis` back until it lies before axis `start` (numpy.rollaxis); a view. Throws IndexError for an axis out of
/// range. Differentiable to any order. chainer.functions.rollaxis.
KUSARI_API Variable rollaxis(const Variable& x, int64_t axis, int64_t start = 0);

}  // namespace kusari::functions
