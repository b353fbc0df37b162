#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// Largest element along axes; NaN if there is one.
/// x: any shape and dtype, no reduced axis empty. axis: one axis, several or all. keepdims: keep the reduced axes with
/// size 1. Returns y in x's dtype. Throws ValueError for an empty axis, IndexError for an axis that x does not have.
/// Differentiable to any order where x is floating; elements that tie get the whole gradient each.
/// chainer.functions.max, which takes floating x alone.
KUSARI_API Variable max(const Variable& x, const ReductionOptions& options);
template <int = 0>
Variable max(const Variable& x, const Axes& axis = std::nullopt, bool keepdims = false) {
  return max(x, ReductionOptions{axis, keepdims});
}
template <int = 0>
Variable max(const Variable& x, std::initializer_list<int64_t> axis, bool keepdims = false) {
  return max(x, ReductionOptions{Axes(axis), keepdims});
}
/// Smallest element along axes; otherwise like max. chainer.functions.min.
KUSARI_API Variable min(const Variable& x, const ReductionOptions& options);
template <int = 0>
Variable min(const Variable& x, const Axes& axis = std::nullopt, bool keepdims = false) {
  return min(x, ReductionOptions{axis, keepdims});
}
template <int = 0>
Variable min(const Variable& x, std::initializer_list<int64_t> axis, bool keepdims = false) {
  return min(x, ReductionOptions{Axes(axis), keepdims});
}

/// Place of the largest element along an axis, or in the flattened array without one; the first of several.
/// x: any shape and dtype, not empty along the axis. Returns int32 without that axis. Throws IndexError for an axis
/// that x does not have, ValueError for an empty axis. Not differentiable. chainer.functions.argmax.
KUSARI_API Variable argmax(const Variable& x, std::optional<int64_t> axis = std::nullopt);
/// Place of the smallest element; otherwise like argmax. chainer.functions.argmin.
KUSARI_API Variable argmin(const Variable& x, std::optional<int64_t> axis = std::nullopt);

}  // namespace kusari::functions
