#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/array_operators.h"

// Arithmetic on variables. Two variables must have one dtype, and their shapes broadcast by NumPy's rules; a raw array
// beside a floating variable is converted to the variable's dtype; so is a number, so float16 + 1.5 stays float16.
// Division and powers of two variables want floating dtypes. Everything is differentiable to any order.
// chainer.functions.math.basic_math.
//
// Nothing is rounded to an integer: an integer variable beside a number gets the dtype that an array would (promote in
// kernels/array_operators.h: config.dtype's beside a real one, so int32 * 1.5 is float32), beside an array that of the
// two, and a floating one in a division by a number. An integer that the dtype cannot hold throws ValueError.

namespace kusari {

KUSARI_API Variable operator-(const Variable& x);
inline Variable operator+(const Variable& x) { return x; }

#define KUSARI_BINARY_OPERATOR(op)                                       \
  KUSARI_API Variable operator op(const Variable& a, const Variable& b); \
  KUSARI_API Variable operator op(const Variable& a, const Array& b);    \
  KUSARI_API Variable operator op(const Array& a, const Variable& b);    \
  KUSARI_API Variable operator op(const Variable& a, Scalar b);          \
  KUSARI_API Variable operator op(Scalar a, const Variable& b);
KUSARI_BINARY_OPERATOR(+)
KUSARI_BINARY_OPERATOR(-)
KUSARI_BINARY_OPERATOR(*)
KUSARI_BINARY_OPERATOR(/)
#undef KUSARI_BINARY_OPERATOR

// Comparisons by element, of the values alone: an array of bools without a graph, as those of arrays are
// (kernels/array_operators.h). Two variables may have different dtypes. Chainer's variables refuse them.
#define KUSARI_COMPARISON(op)                                             \
  KUSARI_API BoolArray operator op(const Variable& a, const Variable& b); \
  KUSARI_API BoolArray operator op(const Variable& a, const Array& b);    \
  KUSARI_API BoolArray operator op(const Array& a, const Variable& b);    \
  KUSARI_API BoolArray operator op(const Variable& a, Scalar b);          \
  KUSARI_API BoolArray operator op(Scalar a, const Variable& b);
KUSARI_COMPARISON(==)
KUSARI_COMPARISON(!=)
KUSARI_COMPARISON(<)
KUSARI_COMPARISON(<=)
KUSARI_COMPARISON(>)
KUSARI_COMPARISON(>=)
#undef KUSARI_COMPARISON

// `a += b` makes `a` name the result, as in Python; a parameter, which must stay a leaf, does not take part.
#define KUSARI_ASSIGNING_OPERATOR(op) \
  template <class V, class Operand>   \
  requires std::is_same_v<V, Variable> V& operator op##=(V& a, const Operand& b) { return a = a op b; }
KUSARI_ASSIGNING_OPERATOR(+)
KUSARI_ASSIGNING_OPERATOR(-)
KUSARI_ASSIGNING_OPERATOR(*)
KUSARI_ASSIGNING_OPERATOR(/)
#undef KUSARI_ASSIGNING_OPERATOR

}  // namespace kusari

namespace kusari::functions {

/// Sum of the arguments: a + b + ...
/// xs: one or more, one dtype, shapes that broadcast. Returns their sum in the common shape.
/// Throws TypeError when dtypes differ or shapes do not broadcast, ValueError without arguments. Differentiable to any
/// order. chainer.functions.add.
KUSARI_API Variable add(const Variable& a, const Variable& b);
KUSARI_API Variable add(std::span<const Variable> xs);
template <class... More>
Variable add(const Variable& a, const Variable& b, const Variable& c, const More&... more) {
  const Variable xs[] = {a, b, c, more...};
  return add(std::span<const Variable>(xs));
}

/// Power: y = base ^ exponent.
/// base, exponent: variables of one floating dtype whose shapes broadcast, or a number on either side, beside which
/// integers keep their dtype if it is an integer, and become floating if it is real. Returns y in the common shape.
/// Throws TypeError for other dtypes, ValueError for integers to a negative integer power. Differentiable to any order;
/// the derivative by the exponent holds for base > 0. chainer.functions.math.basic_math.pow.
KUSARI_API Variable pow(const Variable& base, const Variable& exponent);
KUSARI_API Variable pow(const Variable& base, Scalar exponent);
KUSARI_API Variable pow(Scalar base, const Variable& exponent);

/// Absolute value: y = |x|.
/// x: any shape and dtype. Returns y like x. Differentiable to any order where x is floating, with derivative 0 at 0.
/// chainer.functions.absolute, which takes floating x alone.
KUSARI_API Variable absolute(const Variable& x);

}  // namespace kusari::functions
