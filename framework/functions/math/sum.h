#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// Sum of elements along axes.
/// x: any shape and dtype. axis: one axis, several ({0, -1}) or all (default); an empty list sums nothing. keepdims:
/// keep the summed axes with size 1. Returns y in x's dtype, half types accumulated in float32; integers and
/// bool are summed, and returned, as int64, as in NumPy (which gives uint64 for uint8). Throws IndexError for
/// an axis that x does not have, ValueError for one named twice. Differentiable to any order. chainer.functions.sum.
KUSARI_API Variable sum(const Variable& x, const ReductionOptions& options);
template <int = 0>
Variable sum(const Variable& x, const Axes& axis = std::nullopt, bool keepdims = false) {
  return sum(x, ReductionOptions{axis, keepdims});
}
template <int = 0>
Variable sum(const Variable& x, std::initializer_list<int64_t> axis, bool keepdims = false) {
  return sum(x, ReductionOptions{Axes(axis), keepdims});
}

/// Sum of elements along the axes by which `shape` broadcasts to x's shape: the adjoint of broadcast_to.
/// x: any shape and dtype. shape: what x shall be reduced to. Returns x itself when the shapes are equal, and else y in
/// the dtype that `sum` gives: integers and bool as int64. Throws TypeError when `shape` does not broadcast to x's
/// shape. Differentiable to any order. chainer.functions.sum_to.
KUSARI_API Variable sum_to(const Variable& x, const Shape& shape);

}  // namespace kusari::functions
