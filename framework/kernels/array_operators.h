#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

// Arithmetic and comparisons of arrays by element, without a graph: shapes broadcast, and dtypes promote, by NumPy's
// rules (kusari::promote). An undefined array throws StateError, shapes that do not broadcast TypeError, two devices
// DeviceError.

namespace kusari {

/// The dtype of an array of `dtype` beside a number: floating arrays keep theirs, integers keep theirs beside an
/// integer (bool becomes int64) and become config.dtype's floating dtype, float32 under the mixed ones, beside a real
/// number.
KUSARI_API Dtype promote(Dtype dtype, Scalar number);
/// Throws ValueError naming `call` for an integer that an array of the integer dtype cannot hold.
KUSARI_API void expect_fits(Dtype dtype, Scalar number, const char* call);

/// What a comparison gives: an array of bools, true or false for each element. As a condition it stands for its only
/// element, as in NumPy, so that `if (a == b)` does not silently ask something else.
class KUSARI_API BoolArray : public Array {
 public:
  BoolArray() noexcept = default;
  /// Throws TypeError for another dtype than bool.
  explicit BoolArray(const Array& array);

  /// The only element. Throws ValueError when there is not exactly one: all() and any() speak of several.
  explicit operator bool() const;
  /// Whether every element is true; no element is false of an empty array.
  bool all() const;
  /// Whether some element is true.
  bool any() const;
};

/// -x. Throws TypeError for bool.
KUSARI_API Array operator-(const Array& x);
inline Array operator+(const Array& x) { return x; }

// A number beside an array does not widen it: see promote. `-` throws TypeError for two arrays of bool, which `^` tells
// apart; `/` gives a floating dtype for integers too: that of promote(dtype, 0.5).
#define KUSARI_ARRAY_OPERATOR(Result, op)                        \
  KUSARI_API Result operator op(const Array& a, const Array& b); \
  KUSARI_API Result operator op(const Array& a, Scalar b);       \
  KUSARI_API Result operator op(Scalar a, const Array& b);
KUSARI_ARRAY_OPERATOR(Array, +)
KUSARI_ARRAY_OPERATOR(Array, -)
KUSARI_ARRAY_OPERATOR(Array, *)
KUSARI_ARRAY_OPERATOR(Array, /)
// Comparisons are exact between integers, and in float64 where an integer meets a real number. NaN equals nothing.
KUSARI_ARRAY_OPERATOR(BoolArray, ==)
KUSARI_ARRAY_OPERATOR(BoolArray, !=)
KUSARI_ARRAY_OPERATOR(BoolArray, <)
KUSARI_ARRAY_OPERATOR(BoolArray, <=)
KUSARI_ARRAY_OPERATOR(BoolArray, >)
KUSARI_ARRAY_OPERATOR(BoolArray, >=)
#undef KUSARI_ARRAY_OPERATOR

/// Logic of bools by element; other dtypes throw TypeError.
KUSARI_API BoolArray operator&(const Array& a, const Array& b);
KUSARI_API BoolArray operator|(const Array& a, const Array& b);
KUSARI_API BoolArray operator^(const Array& a, const Array& b);
KUSARI_API BoolArray operator~(const Array& x);

// In place, as in NumPy: every array that shares a's elements sees the change, so `x.at(0) += 1` works, and an array
// that a graph needs for its backward pass must not be changed so. Throws TypeError when the result has another shape
// than a, or a dtype of a higher kind (bool < integers < floating), ValueError when a repeats elements (broadcast_to).
#define KUSARI_ARRAY_OPERATOR(op)                                      \
  KUSARI_API const Array& operator op(const Array& a, const Array& b); \
  KUSARI_API const Array& operator op(const Array& a, Scalar b);
KUSARI_ARRAY_OPERATOR(+=)
KUSARI_ARRAY_OPERATOR(-=)
KUSARI_ARRAY_OPERATOR(*=)
KUSARI_ARRAY_OPERATOR(/=)
#undef KUSARI_ARRAY_OPERATOR

}  // namespace kusari
