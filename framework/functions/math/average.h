#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// By name: F::mean(x, {.axis = {2, 3}, .keepdims = true}).
struct AverageOptions {
  Axes axis = std::nullopt;
  Variable weights = {};
  bool keepdims = false;  ///< keep the reduced axes with size 1
};

/// Mean of elements along axes, weighted if there are weights: sum(weights * x) / sum(weights).
/// x: any shape, floating. axis: one axis, several or all. weights: of x's dtype; one per element along the one axis
/// named, or of x's shape when the mean is over all axes. keepdims: keep the reduced axes with size 1. Returns y in x's
/// dtype, half types accumulated in float32. Throws TypeError for other dtypes and shapes, IndexError for an axis that
/// x does not have, ValueError for weights with several axes. Differentiable to any order, also by the weights.
/// chainer.functions.average.
KUSARI_API Variable average(const Variable& x, const AverageOptions& options);
template <int = 0>
Variable average(const Variable& x, const Axes& axis = std::nullopt, const Variable& weights = Variable(),
                 bool keepdims = false) {
  return average(x, AverageOptions{axis, weights, keepdims});
}
template <int = 0>
Variable average(const Variable& x, std::initializer_list<int64_t> axis, const Variable& weights = Variable(),
                 bool keepdims = false) {
  return average(x, AverageOptions{Axes(axis), weights, keepdims});
}
template <int = 0>
Variable average(const Variable& x, const Axes& axis, bool keepdims) {
  return average(x, AverageOptions{axis, Variable(), keepdims});
}

/// Chainer's other name of average.
inline Variable mean(const Variable& x, const AverageOptions& options) { return average(x, options); }
template <int = 0>
Variable mean(const Variable& x, const Axes& axis = std::nullopt, const Variable& weights = Variable(),
              bool keepdims = false) {
  return average(x, AverageOptions{axis, weights, keepdims});
}
template <int = 0>
Variable mean(const Variable& x, std::initializer_list<int64_t> axis, const Variable& weights = Variable(),
              bool keepdims = false) {
  return average(x, AverageOptions{Axes(axis), weights, keepdims});
}
template <int = 0>
Variable mean(const Variable& x, const Axes& axis, bool keepdims) {
  return average(x, AverageOptions{axis, Variable(), keepdims});
}

}  // namespace kusari::functions
