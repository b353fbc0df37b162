#pragma once

#include "kusari/framework/kernels/math.h"
#include "kusari/framework/kernels/math_gamma.h"
#include "kusari/framework/kernels/math_normal.h"
#include "kusari/framework/kernels/scalar_functions.h"

// kIsLong: a device compiles the formula once for each type, not in each place of use.
namespace kusari::kernels {

struct Pow {
  static constexpr const char* kName = "pow";
  static constexpr bool kIsLong = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T y) const {
    return km::pow(x, y);
  }
};

/// x^exponent. The usual exponents have cheaper functors: Square, Sqrt, Rsqrt, RDivConst{1}.
struct PowConst {
  static constexpr const char* kName = "pow_const";
  static constexpr bool kIsLong = true;
  static constexpr bool kIntegers = true;
  double exponent;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::pow(x, static_cast<T>(exponent));
  }
};

/// base^x.
struct RPowConst {
  static constexpr const char* kName = "rpow_const";
  static constexpr bool kIsLong = true;
  static constexpr bool kIntegers = true;
  double base;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::pow(static_cast<T>(base), x);
  }
};

struct Square {
  static constexpr const char* kName = "square";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return x * x;
  }
};

struct Sqrt {
  static constexpr const char* kName = "sqrt";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::sqrt(x);
  }
};

struct Rsqrt {
  static constexpr const char* kName = "rsqrt";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::rsqrt(x);
  }
};

struct Cbrt {
  static constexpr const char* kName = "cbrt";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::cbrt(x);
  }
};

struct Abs {
  static constexpr const char* kName = "abs";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::abs(x);
  }
};

/// -1, 0 or 1; NaN stays NaN.
struct Sign {
  static constexpr const char* kName = "sign";
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::sign(x);
  }
};

struct Exp {
  static constexpr const char* kName = "exp";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::exp(x);
  }
};

struct Expm1 {
  static constexpr const char* kName = "expm1";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::expm1(x);
  }
};

struct Log {
  static constexpr const char* kName = "log";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log(x);
  }
};

struct Log1p {
  static constexpr const char* kName = "log1p";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log1p(x);
  }
};

struct Log2 {
  static constexpr const char* kName = "log2";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log2(x);
  }
};

struct Log10 {
  static constexpr const char* kName = "log10";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log10(x);
  }
};

struct Sin {
  static constexpr const char* kName = "sin";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::sin(x);
  }
  /// Arguments that the inlined formula does not reach and their values; CPU loops look for them.
  template <class T>
  KUSARI_HOST_DEVICE static bool is_rare(T x) {
    return km::is_large_angle(x);
  }
  template <class T>
  KUSARI_HOST_DEVICE static T rare(T x) {
    return km::sin_of_large(x);
  }
};

struct Cos {
  static constexpr const char* kName = "cos";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::cos(x);
  }
  /// Arguments that the inlined formula does not reach and their values; CPU loops look for them.
  template <class T>
  KUSARI_HOST_DEVICE static bool is_rare(T x) {
    return km::is_large_angle(x);
  }
  template <class T>
  KUSARI_HOST_DEVICE static T rare(T x) {
    return km::cos_of_large(x);
  }
};

struct Tan {
  static constexpr const char* kName = "tan";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::tan(x);
  }
  /// Arguments that the inlined formula does not reach and their values; CPU loops look for them.
  template <class T>
  KUSARI_HOST_DEVICE static bool is_rare(T x) {
    return km::is_large_angle(x);
  }
  template <class T>
  KUSARI_HOST_DEVICE static T rare(T x) {
    return km::tan_of_large(x);
  }
};

struct Arcsin {
  static constexpr const char* kName = "arcsin";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::asin(x);
  }
};

struct Arccos {
  static constexpr const char* kName = "arccos";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::acos(x);
  }
};

struct Arctan {
  static constexpr const char* kName = "arctan";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::atan(x);
  }
};

struct Arctan2 {
  static constexpr const char* kName = "arctan2";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T y, T x) const {
    return km::atan2(y, x);
  }
};

struct Sinh {
  static constexpr const char* kName = "sinh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::sinh(x);
  }
};

struct Cosh {
  static constexpr const char* kName = "cosh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::cosh(x);
  }
};

struct Arcsinh {
  static constexpr const char* kName = "arcsinh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::asinh(x);
  }
};

struct Arccosh {
  static constexpr const char* kName = "arccosh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::acosh(x);
  }
};

struct Arctanh {
  static constexpr const char* kName = "arctanh";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::atanh(x);
  }
};

struct Erf {
  static constexpr const char* kName = "erf";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::erf(x);
  }
};

struct Erfc {
  static constexpr const char* kName = "erfc";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::erfc(x);
  }
};

struct Lgamma {
  static constexpr const char* kName = "lgamma";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::lgamma(x);
  }
};

struct Digamma {
  static constexpr const char* kName = "digamma";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::digamma(x);
  }
};

struct Erfcx {
  static constexpr const char* kName = "erfcx";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::erfcx(x);
  }
};

struct Erfinv {
  static constexpr const char* kName = "erfinv";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::erfinv(x);
  }
};

struct Erfcinv {
  static constexpr const char* kName = "erfcinv";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::erfcinv(x);
  }
};

struct Ndtr {
  static constexpr const char* kName = "ndtr";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::ndtr(x);
  }
};

struct Ndtri {
  static constexpr const char* kName = "ndtri";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::ndtri(x);
  }
};

struct LogNdtr {
  static constexpr const char* kName = "log_ndtr";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log_ndtr(x);
  }
};

/// The derivative of log_ndtr.
struct LogNdtrGrad {
  static constexpr const char* kName = "log_ndtr_grad";
  static constexpr bool kIsLong = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::log_ndtr_grad(x);
  }
};

/// The remainder of the division that rounds towards zero; an integer remainder by zero is 0.
struct Fmod {
  static constexpr const char* kName = "fmod";
  static constexpr bool kIsLong = true;
  static constexpr bool kIntegers = true;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T divisor) const {
    return km::fmod(x, divisor);
  }
  KUSARI_HOST_DEVICE km::i64 operator()(km::i64 x, km::i64 divisor) const {
    return divisor == 0 || divisor == -1 ? 0 : x % divisor;
  }
};

struct LinearInterpolate {
  static constexpr const char* kName = "linear_interpolate";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T p, T x, T y) const {
    return p * x + (T(1) - p) * y;
  }
};

struct Floor {
  static constexpr const char* kName = "floor";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::floor(x);
  }
};

struct Ceil {
  static constexpr const char* kName = "ceil";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::ceil(x);
  }
};

/// Rounds towards zero (F.fix).
struct Trunc {
  static constexpr const char* kName = "trunc";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::trunc(x);
  }
};

/// Rounds to the nearest integer, the even one at a tie.
struct Rint {
  static constexpr const char* kName = "rint";
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    return km::rint(x);
  }
};

/// x limited to [low, high]; NaN stays NaN.
struct Clip {
  static constexpr const char* kName = "clip";
  static constexpr bool kIntegers = true;
  double low;
  double high;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x) const {
    const T y = x < static_cast<T>(low) ? static_cast<T>(low) : x;
    return y > static_cast<T>(high) ? static_cast<T>(high) : y;
  }
};

/// 1 at both bounds.
struct ClipGrad {
  static constexpr const char* kName = "clip_grad";
  double low;
  double high;
  template <class T>
  KUSARI_HOST_DEVICE T operator()(T x, T gy) const {
    return (x >= static_cast<T>(low) && x <= static_cast<T>(high)) ? gy : T(0);
  }
};

}  // namespace kusari::kernels

#define KUSARI_MATH_FUNCTION_OPS(V) \
  KUSARI_PLAIN_FUNCTION_OPS(V)      \
  KUSARI_SCALAR_FUNCTION_OPS(V)

#define KUSARI_PLAIN_FUNCTION_OPS(V) \
  V(Pow)                             \
  V(PowConst)                        \
  V(RPowConst)                       \
  V(Square)                          \
  V(Sqrt)                            \
  V(Rsqrt)                           \
  V(Cbrt)                            \
  V(Abs)                             \
  V(Sign)                            \
  V(Exp)                             \
  V(Expm1)                           \
  V(Log)                             \
  V(Log1p)                           \
  V(Log2)                            \
  V(Log10)                           \
  V(Sin)                             \
  V(Cos)                             \
  V(Tan)                             \
  V(Arcsin)                          \
  V(Arccos)                          \
  V(Arctan)                          \
  V(Arctan2)                         \
  V(Sinh)                            \
  V(Cosh)                            \
  V(Arcsinh)                         \
  V(Arccosh)                         \
  V(Arctanh)                         \
  V(Erf)                             \
  V(Erfc)                            \
  V(Lgamma)                          \
  V(Digamma)                         \
  V(Erfcx)                           \
  V(Erfinv)                          \
  V(Erfcinv)                         \
  V(Ndtr)                            \
  V(Ndtri)                           \
  V(LogNdtr)                         \
  V(LogNdtrGrad)                     \
  V(Fmod)                            \
  V(LinearInterpolate)               \
  V(Floor)                           \
  V(Ceil)                            \
  V(Trunc)                           \
  V(Rint)                            \
  V(Clip)                            \
  V(ClipGrad)
