#pragma once

#include <span>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari {

namespace detail {

/// Number of arguments of a functor, 1 to 4.
template <class Op>
constexpr int pointwise_arity() {
  if constexpr (requires(const Op& op, float x) { op(x); }) return 1;
  if constexpr (requires(const Op& op, float x) { op(x, x); }) return 2;
  if constexpr (requires(const Op& op, float x) { op(x, x, x); }) return 3;
  return 4;
}

/// The array that a pointwise call returns: the operands' common shape, `dtype`, and the layout that suits them
/// (channels-last wins over others). Throws TypeError naming `call` when the shapes do not go together, DeviceError
/// when the devices differ.
KUSARI_API Array pointwise_result(const char* call, std::span<const Array* const> operands, Dtype dtype);
/// The operands' promoted dtype.
KUSARI_API Dtype pointwise_dtype(std::span<const Array* const> operands);

}  // namespace detail

namespace kernels {

/// y = op(x0, x1, ...) by element, for a functor `Op`. Operands are broadcast to y's shape and may have any dtype and
/// strides; the arithmetic is in float64 if any operand or y is float64, else in float32 if any is floating, else in
/// int64. y may be one of the operands.
template <class Op, int kArity = detail::pointwise_arity<Op>()>
struct Pointwise;

template <class Op>
struct Pointwise<Op, 1> {
  static constexpr const char* kName = Op::kName;
  using Signature = void(Params<Op> op, In x, Out y);
};

template <class Op>
struct Pointwise<Op, 2> {
  static constexpr const char* kName = Op::kName;
  using Signature = void(Params<Op> op, In x0, In x1, Out y);
};

template <class Op>
struct Pointwise<Op, 3> {
  static constexpr const char* kName = Op::kName;
  using Signature = void(Params<Op> op, In x0, In x1, In x2, Out y);
};

template <class Op>
struct Pointwise<Op, 4> {
  static constexpr const char* kName = Op::kName;
  using Signature = void(Params<Op> op, In x0, In x1, In x2, In x3, Out y);
};

}  // namespace kernels

/// y = op(x...) into an existing array, which may be one of the operands.
template <class Op, class... X>
void pointwise_to(const Array& y, const Op& op, const X&... x) {
  launch<kernels::Pointwise<Op>>(y.device(), op, x..., y);
}

/// op(x...) as a new array of the given dtype.
template <class Op, class... X>
Array pointwise_as(Dtype dtype, const Op& op, const X&... x) {
  const Array* const operands[] = {&x...};
  const Array y = detail::pointwise_result(Op::kName, operands, dtype);
  pointwise_to(y, op, x...);
  return y;
}

/// op(x...) as a new array of the operands' promoted dtype, or of bools if op is a comparison.
template <class Op, class... X>
Array pointwise(const Op& op, const X&... x) {
  if constexpr (requires { Op::kBoolean; }) {
    return pointwise_as(Dtype::bool_, op, x...);
  } else {
    const Array* const operands[] = {&x...};
    return pointwise_as(detail::pointwise_dtype(operands), op, x...);
  }
}

}  // namespace kusari
