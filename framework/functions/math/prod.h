#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

namespace kusari::functions {

/// Product of elements along axes.
/// x: any shape and dtype. axis: one axis, several or all. keepdims: keep the reduced axes with size 1. Returns y in
/// x's dtype, half types accumulated in float32; integers and bool give int64, as in NumPy. Throws IndexError for an
/// axis that x does not have. Differentiable to any order, also at zeros; the gradient takes n^2 memory for products of
/// n elements. chainer.functions.prod.
KUSARI_API Variable prod(const Variable& x, const ReductionOptions& options);
template <int = 0>
Variable prod(const Variable& x, const Axes& axis = std::nullopt, bool keepdims = false) {
  return prod(x, ReductionOptions{axis, keepdims});
}
template <int = 0>
Variable prod(const Variable& x, std::initializer_list<int64_t> axis, bool keepdims = false) {
  return prod(x, ReductionOptions{Axes(axis), keepdims});
}

}  // namespace kusari::functions
