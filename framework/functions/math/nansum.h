#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// Sum of the elements along axes that are not NaN; 0 where all are.
/// x: any shape and dtype. axis: one axis, several or all. keepdims: keep the summed axes with size 1. Returns y in x's
/// dtype, half types accumulated in float32; integers and bool give int64, as in sum. Throws IndexError for an axis
/// that x does not have, ValueError for one named twice. Differentiable to any order; NaNs get no gradient.
/// numpy.nansum, torch.nansum (Chainer has none).
KUSARI_API Variable nansum(const Variable& x, const ReductionOptions& options);
template <int = 0>
Variable nansum(const Variable& x, const Axes& axis = std::nullopt, bool keepdims = false) {
  return nansum(x, ReductionOptions{axis, keepdims});
}
template <int = 0>
Variable nansum(const Variable& x, std::initializer_list<int64_t> axis, bool keepdims = false) {
  return nansum(x, ReductionOptions{Axes(axis), keepdims});
}

}  // namespace kusari::functions
