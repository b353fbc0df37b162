#include "kusari/framework/kernels/array_math.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::xp {
namespace {

void expect_operand(const Array& x, const char* call, const char* name = "x") {
  if (!x.is_defined()) throw StateError(std::string(call) + ": " + name + " is an undefined array");
}

// A number as an array that broadcasts beside x, of the dtype that operators would give it.
Array number_beside(const Array& x, Scalar number, const char* call) {
  expect_operand(x, call);
  const Dtype dtype = promote(x.dtype(), number);
  expect_fits(dtype, number, call);
  return full({}, number, dtype, x.device());
}

template <class Op>
Array floating(const char* call, const Op& op, const Array& x) {
  expect_operand(x, call);
  return pointwise_as(promote(x.dtype(), 0.5), op, x);
}

template <class Op>
Array same_dtype(const char* call, const Op& op, const Array& x) {
  expect_operand(x, call);
  return pointwise(op, x);
}

template <class R>
Array reduced(const char* call, const R& reducer, const Array& x, Dtype dtype, const Axes& axis, bool keepdims) {
  return reduce_as(dtype, reducer, x, axis.mask(x.ndim(), call), keepdims);
}

void expect_choice(const Array& x, const Axes& axis, const char* call) {
  expect_operand(x, call);
  if (reduced_count(x.shape(), axis.mask(x.ndim(), call)) > 0) return;
  throw ValueError(std::string(call) + ": x has shape " + to_string(x.shape()) +
                   ": there must be an element along the axes");
}

}  // namespace

#define KUSARI_FLOATING(name, Op) \
  Array name(const Array& x) { return floating("xp::" #name, kernels::Op{}, x); }
KUSARI_FLOATING(sqrt, Sqrt)
KUSARI_FLOATING(rsqrt, Rsqrt)
KUSARI_FLOATING(cbrt, Cbrt)
KUSARI_FLOATING(exp, Exp)
KUSARI_FLOATING(expm1, Expm1)
KUSARI_FLOATING(log, Log)
KUSARI_FLOATING(log1p, Log1p)
KUSARI_FLOATING(log2, Log2)
KUSARI_FLOATING(log10, Log10)
KUSARI_FLOATING(sin, Sin)
KUSARI_FLOATING(cos, Cos)
KUSARI_FLOATING(tan, Tan)
KUSARI_FLOATING(arcsin, Arcsin)
KUSARI_FLOATING(arccos, Arccos)
KUSARI_FLOATING(arctan, Arctan)
KUSARI_FLOATING(sinh, Sinh)
KUSARI_FLOATING(cosh, Cosh)
KUSARI_FLOATING(tanh, Tanh)
KUSARI_FLOATING(arcsinh, Arcsinh)
KUSARI_FLOATING(arccosh, Arccosh)
KUSARI_FLOATING(arctanh, Arctanh)
KUSARI_FLOATING(erf, Erf)
#undef KUSARI_FLOATING

#define KUSARI_SAME_DTYPE(name, Op) \
  Array name(const Array& x) { return same_dtype("xp::" #name, kernels::Op{}, x); }
KUSARI_SAME_DTYPE(abs, Abs)
KUSARI_SAME_DTYPE(sign, Sign)
KUSARI_SAME_DTYPE(square, Square)
#undef KUSARI_SAME_DTYPE

#define KUSARI_ROUNDING(name, Op)                                           \
  Array name(const Array& x) {                                              \
    expect_operand(x, "xp::" #name);                                        \
    return is_integral(x.dtype()) ? x.copy() : pointwise(kernels::Op{}, x); \
  }
KUSARI_ROUNDING(floor, Floor)
KUSARI_ROUNDING(ceil, Ceil)
KUSARI_ROUNDING(rint, Rint)
#undef KUSARI_ROUNDING

BoolArray isnan(const Array& x) { return BoolArray(same_dtype("xp::isnan", kernels::Isnan{}, x)); }
BoolArray isinf(const Array& x) { return BoolArray(same_dtype("xp::isinf", kernels::Isinf{}, x)); }
BoolArray isfinite(const Array& x) { return BoolArray(same_dtype("xp::isfinite", kernels::Isfinite{}, x)); }

#define KUSARI_WITH_NUMBERS(name)                                                             \
  Array name(const Array& a, Scalar b) { return name(a, number_beside(a, b, "xp::" #name)); } \
  Array name(Scalar a, const Array& b) { return name(number_beside(b, a, "xp::" #name), b); }
KUSARI_WITH_NUMBERS(maximum)
KUSARI_WITH_NUMBERS(minimum)
KUSARI_WITH_NUMBERS(pow)
KUSARI_WITH_NUMBERS(floor_divide)
KUSARI_WITH_NUMBERS(remainder)
#undef KUSARI_WITH_NUMBERS

#define KUSARI_BINARY(name, Op)                \
  Array name(const Array& a, const Array& b) { \
    expect_operand(a, "xp::" #name, "a");      \
    expect_operand(b, "xp::" #name, "b");      \
    return pointwise(kernels::Op{}, a, b);     \
  }
KUSARI_BINARY(maximum, Maximum)
KUSARI_BINARY(minimum, Minimum)
KUSARI_BINARY(floor_divide, FloorDiv)
KUSARI_BINARY(remainder, Mod)
#undef KUSARI_BINARY

Array pow(const Array& a, const Array& b) {
  expect_operand(a, "xp::pow", "a");
  expect_operand(b, "xp::pow", "b");
  return pointwise_as(promote(promote(a.dtype(), b.dtype()), 0.5), kernels::Pow{}, a, b);
}

Array clip(const Array& x, Scalar lower, Scalar upper) {
  expect_operand(x, "xp::clip");
  if (!(lower.as_double() <= upper.as_double())) {
    throw ValueError("xp::clip: lower is " + general_text(lower.as_double()) + " and upper is " +
                     general_text(upper.as_double()) + ": lower must not be above upper");
  }
  const Array above = maximum(x, number_beside(x, lower, "xp::clip"));
  return minimum(above, number_beside(above, upper, "xp::clip"));
}

Array where(const Array& condition, const Array& a, const Array& b) {
  expect_operand(condition, "xp::where", "condition");
  expect_operand(a, "xp::where", "a");
  expect_operand(b, "xp::where", "b");
  if (condition.dtype() != Dtype::bool_) {
    throw TypeError(std::string("xp::where: condition has dtype ") + kusari::name(condition.dtype()) +
                    ": it must be bool");
  }
  return pointwise_as(promote(a.dtype(), b.dtype()), kernels::Where{}, condition, a, b);
}
Array where(const Array& condition, const Array& a, Scalar b) {
  return where(condition, a, number_beside(a, b, "xp::where"));
}
Array where(const Array& condition, Scalar a, const Array& b) {
  return where(condition, number_beside(b, a, "xp::where"), b);
}

Array sum(const Array& x, const Axes& axis, bool keepdims) {
  expect_operand(x, "xp::sum");
  return reduced("xp::sum", kernels::Sum{}, x, accumulation_dtype(x.dtype()), axis, keepdims);
}
Array prod(const Array& x, const Axes& axis, bool keepdims) {
  expect_operand(x, "xp::prod");
  return reduced("xp::prod", kernels::Prod{}, x, accumulation_dtype(x.dtype()), axis, keepdims);
}
Array mean(const Array& x, const Axes& axis, bool keepdims) {
  expect_operand(x, "xp::mean");
  const Dtype dtype = promote(x.dtype(), 0.5);
  return reduced("xp::mean", kernels::Mean{}, x.astype(dtype), dtype, axis, keepdims);
}
Array max(const Array& x, const Axes& axis, bool keepdims) {
  expect_choice(x, axis, "xp::max");
  return reduced("xp::max", kernels::Max{}, x, x.dtype(), axis, keepdims);
}
Array min(const Array& x, const Axes& axis, bool keepdims) {
  expect_choice(x, axis, "xp::min");
  return reduced("xp::min", kernels::Min{}, x, x.dtype(), axis, keepdims);
}

}  // namespace kusari::xp
