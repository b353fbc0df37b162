#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/axes.h"

// Mathematics of arrays by element and along axes, without a graph: what kusari::functions has for variables. On the
// arrays' device; an undefined array throws StateError, shapes that do not broadcast TypeError, two devices
// DeviceError. The name is that which Chainer's programs give to the module of their arrays.

namespace kusari::xp {

// By element, in x's dtype; integers and bool give config.dtype's floating dtype (float32 under the mixed ones).
KUSARI_API Array sqrt(const Array& x);
KUSARI_API Array rsqrt(const Array& x);  ///< 1 / sqrt(x)
KUSARI_API Array cbrt(const Array& x);
KUSARI_API Array exp(const Array& x);
KUSARI_API Array expm1(const Array& x);
KUSARI_API Array log(const Array& x);
KUSARI_API Array log1p(const Array& x);
KUSARI_API Array log2(const Array& x);
KUSARI_API Array log10(const Array& x);
KUSARI_API Array sin(const Array& x);
KUSARI_API Array cos(const Array& x);
KUSARI_API Array tan(const Array& x);
KUSARI_API Array arcsin(const Array& x);
KUSARI_API Array arccos(const Array& x);
KUSARI_API Array arctan(const Array& x);
KUSARI_API Array sinh(const Array& x);
KUSARI_API Array cosh(const Array& x);
KUSARI_API Array tanh(const Array& x);
KUSARI_API Array arcsinh(const Array& x);
KUSARI_API Array arccosh(const Array& x);
KUSARI_API Array arctanh(const Array& x);
KUSARI_API Array erf(const Array& x);

// By element, in x's dtype.
KUSARI_API Array abs(const Array& x);
KUSARI_API Array sign(const Array& x);  ///< -1, 0 or 1; NaN stays
KUSARI_API Array square(const Array& x);
KUSARI_API Array floor(const Array& x);
KUSARI_API Array ceil(const Array& x);
KUSARI_API Array rint(const Array& x);  ///< to the nearest integer, halves to the even one

/// Element by element.
KUSARI_API BoolArray isnan(const Array& x);
KUSARI_API BoolArray isinf(const Array& x);
KUSARI_API BoolArray isfinite(const Array& x);

// Dtypes promote, and numbers follow the array, as with operators; NaN where either is NaN. pow of integers is
// floating.
// floor_divide rounds a / b down; remainder is a - b floor_divide(a, b), of b's sign. Integers divided by 0 give 0.
KUSARI_API Array maximum(const Array& a, const Array& b);
KUSARI_API Array maximum(const Array& a, Scalar b);
KUSARI_API Array maximum(Scalar a, const Array& b);
KUSARI_API Array minimum(const Array& a, const Array& b);
KUSARI_API Array minimum(const Array& a, Scalar b);
KUSARI_API Array minimum(Scalar a, const Array& b);
KUSARI_API Array pow(const Array& a, const Array& b);
KUSARI_API Array pow(const Array& a, Scalar b);
KUSARI_API Array pow(Scalar a, const Array& b);
KUSARI_API Array floor_divide(const Array& a, const Array& b);
KUSARI_API Array floor_divide(const Array& a, Scalar b);
KUSARI_API Array floor_divide(Scalar a, const Array& b);
KUSARI_API Array remainder(const Array& a, const Array& b);
KUSARI_API Array remainder(const Array& a, Scalar b);
KUSARI_API Array remainder(Scalar a, const Array& b);

/// minimum(maximum(x, lower), upper). Throws ValueError when a bound is NaN or lower > upper.
KUSARI_API Array clip(const Array& x, Scalar lower, Scalar upper);
/// a where the condition is true, else b. Throws TypeError for a condition that is not bool.
KUSARI_API Array where(const Array& condition, const Array& a, const Array& b);
KUSARI_API Array where(const Array& condition, const Array& a, Scalar b);
KUSARI_API Array where(const Array& condition, Scalar a, const Array& b);

// Along axes (all of them by default), which keepdims keeps with size 1. Integers and bool are summed and multiplied in
// int64, and have a floating mean. Throws IndexError for an axis that x does not have, ValueError for one named twice;
// max and min, too, when there is nothing to choose from.
KUSARI_API Array sum(const Array& x, const Axes& axis = std::nullopt, bool keepdims = false);
KUSARI_API Array prod(const Array& x, const Axes& axis = std::nullopt, bool keepdims = false);
KUSARI_API Array mean(const Array& x, const Axes& axis = std::nullopt, bool keepdims = false);
KUSARI_API Array max(const Array& x, const Axes& axis = std::nullopt, bool keepdims = false);
KUSARI_API Array min(const Array& x, const Axes& axis = std::nullopt, bool keepdims = false);

}  // namespace kusari::xp
