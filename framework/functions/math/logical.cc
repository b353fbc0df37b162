#include "kusari/framework/functions/math/logical.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

void expect_broadcast(const char* call, const Variable& a, const Variable& b) {
  expect_given(a, call, "a");
  expect_given(b, call, "b");
  broadcast_shapes(a.shape(), b.shape(), call);
}

template <class Op>
Variable logical(const char* call, const Variable& a, const Variable& b) {
  expect_broadcast(call, a, b);
  return Variable(pointwise(Op{}, a.array(), b.array()), false);
}

void expect_bits(const char* call, const Variable& x, const char* argument, bool takes_bool) {
  expect_given(x, call, argument);
  if (is_floating(x.dtype()) || (!takes_bool && x.dtype() == Dtype::bool_)) {
    throw TypeError(std::string(call) + ": " + argument + " has dtype " + name(x.dtype()) + ": " + argument +
                    ".dtype must be " + (takes_bool ? "an integer dtype or bool" : "an integer dtype"));
  }
}

template <class Op>
Variable of_bits(const char* call, const Variable& a, const Variable& b, bool takes_bool) {
  expect_bits(call, a, "a", takes_bool);
  expect_bits(call, b, "b", takes_bool);
  if (a.dtype() != b.dtype()) {
    throw TypeError(std::string(call) + ": a has dtype " + name(a.dtype()) + " but b has dtype " + name(b.dtype()) +
                    ": a.dtype must equal b.dtype");
  }
  expect_broadcast(call, a, b);
  return Variable(pointwise(Op{}, a.array(), b.array()), false);
}

}  // namespace

Variable logical_and(const Variable& a, const Variable& b) {
  return logical<kernels::LogicalAnd>("F::logical_and", a, b);
}
Variable logical_or(const Variable& a, const Variable& b) { return logical<kernels::LogicalOr>("F::logical_or", a, b); }
Variable logical_xor(const Variable& a, const Variable& b) {
  return logical<kernels::LogicalXor>("F::logical_xor", a, b);
}
Variable logical_not(const Variable& x) {
  expect_given(x, "F::logical_not", "x");
  return Variable(pointwise(kernels::LogicalNot{}, x.array()), false);
}

Variable bitwise_and(const Variable& a, const Variable& b) {
  return of_bits<kernels::BitwiseAnd>("F::bitwise_and", a, b, true);
}
Variable bitwise_or(const Variable& a, const Variable& b) {
  return of_bits<kernels::BitwiseOr>("F::bitwise_or", a, b, true);
}
Variable bitwise_xor(const Variable& a, const Variable& b) {
  return of_bits<kernels::BitwiseXor>("F::bitwise_xor", a, b, true);
}
Variable bitwise_not(const Variable& x) {
  expect_bits("F::bitwise_not", x, "x", true);
  if (x.dtype() == Dtype::bool_) return logical_not(x);
  return Variable(pointwise(kernels::BitwiseNot{}, x.array()), false);
}

Variable left_shift(const Variable& a, const Variable& b) {
  return of_bits<kernels::LeftShift>("F::left_shift", a, b, false);
}
Variable right_shift(const Variable& a, const Variable& b) {
  return of_bits<kernels::RightShift>("F::right_shift", a, b, false);
}

}  // namespace kusari::functions
