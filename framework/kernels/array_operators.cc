#include "kusari/framework/kernels/array_operators.h"

#include <cmath>
#include <limits>
#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari {
namespace {

using std::string;

void expect_defined(const Array& a, const char* call, const char* name) {
  if (!a.is_defined()) throw StateError(string(call) + ": " + name + " is an undefined array");
}
void expect_defined(const Array& a, const Array& b, const char* call) {
  expect_defined(a, call, "a");
  expect_defined(b, call, "b");
}

// Functors keep their number as a double, which holds integers up to 2^53.
bool is_exact(Scalar number) {
  constexpr int64_t kLimit = int64_t{1} << 53;
  return !number.is_integral() || (number.as_int64() >= -kLimit && number.as_int64() <= kLimit);
}

// The number as an array beside x.
Array as_array(Scalar number, Dtype dtype, const Array& x) { return full({}, number, dtype, x.device()); }

Dtype real_dtype(Dtype dtype) { return promote(dtype, 0.5); }

[[noreturn]] void throw_bools(const char* call, const char* instead) {
  throw TypeError(string(call) + ": the arrays have dtype bool, for which it is not defined: " + instead);
}

// x op number, by a functor with the number in it or, where that would round the number, by the functor of two arrays.
template <class Const, class Op>
Array with_number(const char* call, const Array& x, Scalar number, bool number_first) {
  expect_defined(x, call, number_first ? "b" : "a");
  const Dtype dtype = promote(x.dtype(), number);
  expect_fits(dtype, number, call);
  if (is_exact(number)) return pointwise_as(dtype, Const{number.as_double()}, x);
  const Array other = as_array(number, dtype, x);
  return number_first ? pointwise_as(dtype, Op{}, other, x) : pointwise_as(dtype, Op{}, x, other);
}

// x - number: x + (-number), as the functors have it.
Array minus_number(const Array& x, Scalar number) {
  expect_defined(x, "operator-", "a");
  const Dtype dtype = promote(x.dtype(), number);
  expect_fits(dtype, number, "operator-");
  if (is_exact(number)) return pointwise_as(dtype, kernels::AddConst{-number.as_double()}, x);
  return pointwise_as(dtype, kernels::Sub{}, x, as_array(number, dtype, x));
}

bool is_wide_integer(Dtype dtype) { return dtype == Dtype::int32 || dtype == Dtype::int64; }

template <class Op>
BoolArray compare(const char* call, const Array& a, const Array& b) {
  expect_defined(a, b, call);
  const bool is_mixed = is_integral(a.dtype()) != is_integral(b.dtype());
  if (is_mixed && (is_wide_integer(a.dtype()) || is_wide_integer(b.dtype()))) {  // float32 has no room for them
    return BoolArray(pointwise(Op{}, a.astype(Dtype::float64), b.astype(Dtype::float64)));
  }
  return BoolArray(pointwise(Op{}, a, b));
}

template <class Const, class Op>
BoolArray compare_number(const char* call, const Array& x, Scalar number, const char* name) {
  expect_defined(x, call, name);
  if (is_integral(x.dtype())) {
    if (!number.is_integral()) return BoolArray(pointwise(Const{number.as_double()}, x.astype(Dtype::float64)));
    if (is_exact(number)) return BoolArray(pointwise(Const{number.as_double()}, x));
    return BoolArray(pointwise(Op{}, x, as_array(number, Dtype::int64, x)));
  }
  // A number beside an array is one of its dtype: 0.1 equals the float16 that is nearest to it.
  const double rounded = visit_dtype(x.dtype(), [&]<class T>() { return convert_element<double>(number.as<T>()); });
  return BoolArray(pointwise(Const{rounded}, x));
}

void expect_bools(const char* call, const Array& x) {
  if (x.dtype() != Dtype::bool_) {
    throw TypeError(string(call) + ": an array has dtype " + name(x.dtype()) + ": it must be bool");
  }
}

template <class Op>
BoolArray logic(const char* call, const Array& a, const Array& b) {
  expect_defined(a, b, call);
  expect_bools(call, a);
  expect_bools(call, b);
  return BoolArray(pointwise(Op{}, a, b));
}

int kind(Dtype dtype) { return dtype == Dtype::bool_ ? 0 : is_integral(dtype) ? 1 : 2; }

// Throws unless a result of that shape and dtype may be written over a.
void expect_assignable(const char* call, const Array& a, const Shape& shape, Dtype dtype) {
  if (a.shape() != shape) {
    throw TypeError(string(call) + ": a has shape " + to_string(a.shape()) + " but the result has shape " +
                    to_string(shape) + ": they must be equal");
  }
  if (kind(dtype) > kind(a.dtype())) {
    throw TypeError(string(call) + ": a has dtype " + name(a.dtype()) + ", which cannot take a result of dtype " +
                    name(dtype) + ": convert it first (astype)");
  }
  for (int i = 0; i < a.ndim(); ++i) {
    if (a.strides()[i] == 0 && a.shape()[i] > 1) {
      throw ValueError(string(call) + ": a repeats its elements along axis " + std::to_string(i) + ": copy() it first");
    }
  }
}

template <class Op>
const Array& assign(const char* call, const Array& a, const Array& b, Dtype dtype) {
  expect_assignable(call, a, broadcast_shapes(a.shape(), b.shape(), call), dtype);
  // Another view of the same memory might be read where it has been written.
  const bool overlaps = !a.is_same(b) && detail::may_share_memory(a, b);
  pointwise_to(a, Op{}, a, overlaps ? b.copy() : b);
  return a;
}

template <class Const, class Op>
const Array& assign_number(const char* call, const Array& a, Scalar b, Scalar in_functor) {
  expect_defined(a, call, "a");
  const Dtype dtype = promote(a.dtype(), b);
  expect_assignable(call, a, a.shape(), dtype);
  expect_fits(dtype, b, call);
  if (is_exact(b)) {
    pointwise_to(a, Const{in_functor.as_double()}, a);
  } else {
    pointwise_to(a, Op{}, a, as_array(b, dtype, a));
  }
  return a;
}

}  // namespace

Dtype promote(Dtype dtype, Scalar number) {
  if (is_floating(dtype)) return dtype;
  if (!number.is_integral()) return get_dtype(std::nullopt, Dtype::float32);
  return dtype == Dtype::bool_ ? Dtype::int64 : dtype;
}

void expect_fits(Dtype dtype, Scalar number, const char* call) {
  if (!is_integral(dtype) || !number.is_integral()) return;
  const int64_t value = number.as_int64();
  const bool fits = visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
             value <= static_cast<int64_t>(std::numeric_limits<T>::max());
    } else {
      return true;
    }
  });
  if (!fits) {
    throw ValueError(string(call) + ": the number " + std::to_string(value) + " does not fit into an array of dtype " +
                     name(dtype));
  }
}

BoolArray::BoolArray(const Array& array) : Array{array} { expect_bools("BoolArray", array); }

BoolArray::operator bool() const {
  if (size() != 1) {
    throw ValueError("BoolArray: the truth of an array of shape " + to_string(shape()) +
                     " is not one value: use all() or any()");
  }
  return item<bool>();
}

bool BoolArray::all() const { return reduce(kernels::All{}, *this).item<bool>(); }
bool BoolArray::any() const { return reduce(kernels::Any{}, *this).item<bool>(); }

Array operator-(const Array& x) {
  expect_defined(x, "operator-", "x");
  if (x.dtype() == Dtype::bool_) throw_bools("operator-", "~ negates it");
  return pointwise(kernels::Neg{}, x);
}

Array operator+(const Array& a, const Array& b) {
  expect_defined(a, b, "operator+");
  return pointwise(kernels::Add{}, a, b);
}
Array operator-(const Array& a, const Array& b) {
  expect_defined(a, b, "operator-");
  if (a.dtype() == Dtype::bool_ && b.dtype() == Dtype::bool_) throw_bools("operator-", "^ tells where they differ");
  return pointwise(kernels::Sub{}, a, b);
}
Array operator*(const Array& a, const Array& b) {
  expect_defined(a, b, "operator*");
  return pointwise(kernels::Mul{}, a, b);
}
Array operator/(const Array& a, const Array& b) {
  expect_defined(a, b, "operator/");
  return pointwise_as(real_dtype(promote(a.dtype(), b.dtype())), kernels::Div{}, a, b);
}

Array operator+(const Array& a, Scalar b) {
  return with_number<kernels::AddConst, kernels::Add>("operator+", a, b, false);
}
Array operator-(const Array& a, Scalar b) { return minus_number(a, b); }
Array operator*(const Array& a, Scalar b) {
  return with_number<kernels::MulConst, kernels::Mul>("operator*", a, b, false);
}
Array operator/(const Array& a, Scalar b) {
  expect_defined(a, "operator/", "a");
  return pointwise_as(real_dtype(a.dtype()), kernels::DivConst{b.as_double()}, a);
}

Array operator+(Scalar a, const Array& b) {
  return with_number<kernels::AddConst, kernels::Add>("operator+", b, a, true);
}
Array operator-(Scalar a, const Array& b) {
  return with_number<kernels::RSubConst, kernels::Sub>("operator-", b, a, true);
}
Array operator*(Scalar a, const Array& b) {
  return with_number<kernels::MulConst, kernels::Mul>("operator*", b, a, true);
}
Array operator/(Scalar a, const Array& b) {
  expect_defined(b, "operator/", "b");
  return pointwise_as(real_dtype(b.dtype()), kernels::RDivConst{a.as_double()}, b);
}

// A number on the left is compared from the other side.
#define KUSARI_COMPARISON(op, Op, Mirrored)                                                                    \
  BoolArray operator op(const Array& a, const Array& b) { return compare<kernels::Op>("operator" #op, a, b); } \
  BoolArray operator op(const Array& a, Scalar b) {                                                            \
    return compare_number<kernels::Op##Const, kernels::Op>("operator" #op, a, b, "a");                         \
  }                                                                                                            \
  BoolArray operator op(Scalar a, const Array& b) {                                                            \
    return compare_number<kernels::Mirrored##Const, kernels::Mirrored>("operator" #op, b, a, "b");             \
  }
KUSARI_COMPARISON(==, Equal, Equal)
KUSARI_COMPARISON(!=, NotEqual, NotEqual)
KUSARI_COMPARISON(<, Less, Greater)
KUSARI_COMPARISON(<=, LessEqual, GreaterEqual)
KUSARI_COMPARISON(>, Greater, Less)
KUSARI_COMPARISON(>=, GreaterEqual, LessEqual)
#undef KUSARI_COMPARISON

BoolArray operator&(const Array& a, const Array& b) { return logic<kernels::LogicalAnd>("operator&", a, b); }
BoolArray operator|(const Array& a, const Array& b) { return logic<kernels::LogicalOr>("operator|", a, b); }
BoolArray operator^(const Array& a, const Array& b) { return logic<kernels::LogicalXor>("operator^", a, b); }
BoolArray operator~(const Array& x) {
  expect_defined(x, "operator~", "x");
  expect_bools("operator~", x);
  return BoolArray(pointwise(kernels::LogicalNot{}, x));
}

const Array& operator+=(const Array& a, const Array& b) {
  expect_defined(a, b, "operator+=");
  return assign<kernels::Add>("operator+=", a, b, promote(a.dtype(), b.dtype()));
}
const Array& operator-=(const Array& a, const Array& b) {
  expect_defined(a, b, "operator-=");
  if (a.dtype() == Dtype::bool_ && b.dtype() == Dtype::bool_) throw_bools("operator-=", "^ tells where they differ");
  return assign<kernels::Sub>("operator-=", a, b, promote(a.dtype(), b.dtype()));
}
const Array& operator*=(const Array& a, const Array& b) {
  expect_defined(a, b, "operator*=");
  return assign<kernels::Mul>("operator*=", a, b, promote(a.dtype(), b.dtype()));
}
const Array& operator/=(const Array& a, const Array& b) {
  expect_defined(a, b, "operator/=");
  return assign<kernels::Div>("operator/=", a, b, real_dtype(promote(a.dtype(), b.dtype())));
}

const Array& operator+=(const Array& a, Scalar b) {
  return assign_number<kernels::AddConst, kernels::Add>("operator+=", a, b, b);
}
const Array& operator-=(const Array& a, Scalar b) {
  return assign_number<kernels::AddConst, kernels::Sub>("operator-=", a, b, -b.as_double());
}
const Array& operator*=(const Array& a, Scalar b) {
  return assign_number<kernels::MulConst, kernels::Mul>("operator*=", a, b, b);
}
const Array& operator/=(const Array& a, Scalar b) {
  expect_defined(a, "operator/=", "a");
  expect_assignable("operator/=", a, a.shape(), real_dtype(a.dtype()));
  pointwise_to(a, kernels::DivConst{b.as_double()}, a);
  return a;
}

}  // namespace kusari
