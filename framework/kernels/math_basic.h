#pragma once

#include "kusari/framework/kernels/macros.h"

namespace kusari::km {

template <class To, class From>
KUSARI_HOST_DEVICE To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

/// Facts about a floating type, for code that may not include <limits>.
template <class T>
struct Real;

template <>
struct Real<float> {
  static constexpr float kInfinity = __builtin_bit_cast(float, 0x7f800000u);
  static constexpr float kNan = __builtin_bit_cast(float, 0x7fc00000u);
  static constexpr float kMinNormal = 1.17549435e-38f;
  static constexpr float kMax = 3.40282347e+38f;
};

template <>
struct Real<double> {
  static constexpr double kInfinity = __builtin_bit_cast(double, u64{0x7ff0000000000000u});
  static constexpr double kNan = __builtin_bit_cast(double, u64{0x7ff8000000000000u});
  static constexpr double kMinNormal = 2.2250738585072014e-308;
  static constexpr double kMax = 1.7976931348623157e+308;
};

/// The value below (above) all others: infinite where the type has infinities.
template <class T>
KUSARI_HOST_DEVICE T lowest() {
  if constexpr (T(0.5) != T(0)) {
    return -Real<T>::kInfinity;
  } else {
    return static_cast<T>(u64{1} << 63);
  }
}
template <class T>
KUSARI_HOST_DEVICE T highest() {
  if constexpr (T(0.5) != T(0)) {
    return Real<T>::kInfinity;
  } else {
    return static_cast<T>(~u64{0} >> 1);
  }
}

/// The larger of two values; NaN if either is NaN, as numpy.maximum. Of equal values the second, so max(0, -0) is -0.
template <class T>
KUSARI_HOST_DEVICE T max(T a, T b) {
  const T y = a > b ? a : b;  // two selections, which become instructions where a condition with || stays a branch
  return a != a ? a : y;
}

/// The smaller of two values; NaN if either is NaN, as numpy.minimum.
template <class T>
KUSARI_HOST_DEVICE T min(T a, T b) {
  const T y = a < b ? a : b;
  return a != a ? a : y;
}

template <class T>
KUSARI_HOST_DEVICE T abs(T x) {
  return x < 0 ? -x : x;
}
#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float abs(float x) { return ::fabsf(x); }
KUSARI_HOST_DEVICE double abs(double x) { return ::fabs(x); }
#else
KUSARI_HOST_DEVICE float abs(float x) { return __builtin_fabsf(x); }
KUSARI_HOST_DEVICE double abs(double x) { return __builtin_fabs(x); }
#endif

/// -1, 0 or 1 by the sign of x; a NaN stays NaN.
template <class T>
KUSARI_HOST_DEVICE T sign(T x) {
  return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
}

KUSARI_HOST_DEVICE float copysign(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }
KUSARI_HOST_DEVICE double copysign(double magnitude, double sign) { return __builtin_copysign(magnitude, sign); }

template <class T>
KUSARI_HOST_DEVICE bool isnan(T x) {
  return x != x;
}

template <class T>
KUSARI_HOST_DEVICE bool isinf(T x) {
  return abs(x) == Real<T>::kInfinity;
}

template <class T>
KUSARI_HOST_DEVICE bool isfinite(T x) {
  return abs(x) < Real<T>::kInfinity;  // false for NaN
}

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float sqrt(float x) { return ::sqrtf(x); }
KUSARI_HOST_DEVICE double sqrt(double x) { return ::sqrt(x); }
KUSARI_HOST_DEVICE float rint(float x) { return ::rintf(x); }
KUSARI_HOST_DEVICE double rint(double x) { return ::rint(x); }
KUSARI_HOST_DEVICE float floor(float x) { return ::floorf(x); }
KUSARI_HOST_DEVICE double floor(double x) { return ::floor(x); }
KUSARI_HOST_DEVICE float ceil(float x) { return ::ceilf(x); }
KUSARI_HOST_DEVICE double ceil(double x) { return ::ceil(x); }
KUSARI_HOST_DEVICE float trunc(float x) { return ::truncf(x); }
KUSARI_HOST_DEVICE double trunc(double x) { return ::trunc(x); }
#else
KUSARI_HOST_DEVICE float sqrt(float x) { return __builtin_sqrtf(x); }
KUSARI_HOST_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }

namespace detail {

/// a * b + c, rounded twice. A fused multiply-add would be faster where the processor has one, but then results would
/// depend on the processor, and training runs could not be reproduced elsewhere.
template <class T>
KUSARI_HOST_DEVICE T mad(T a, T b, T c) {
  return a * b + c;
}

/// Coefficients from the highest power down, by Horner's rule.
template <class T>
KUSARI_HOST_DEVICE T polynomial(T, T c) {
  return c;
}
template <class T, class... Rest>
KUSARI_HOST_DEVICE T polynomial(T x, T c1, T c0, Rest... rest) {
  return polynomial(x, mad(c1, x, c0), rest...);
}

/// Adding this number to one of smaller magnitude rounds it to an integer, to even at a tie.
template <class T>
struct Round;

template <>
struct Round<float> {
  static constexpr float kMagic = 8388608.0f;  // 2^23
};

template <>
struct Round<double> {
  static constexpr double kMagic = 4503599627370496.0;  // 2^52
};

}  // namespace detail

// The rounding functions are written out because plain x86-64 has no instruction for them and would call a function;
// SSE4.1 has.

/// The nearest integer, the even one at a tie.
template <class T>
KUSARI_HOST_DEVICE T rint(T x) {
  const T a = abs(x);
  const T r = (a + detail::Round<T>::kMagic) - detail::Round<T>::kMagic;
  return copysign(a < detail::Round<T>::kMagic ? r : a, x);
}

#if defined(__SSE4_1__)
KUSARI_HOST_DEVICE float floor(float x) { return __builtin_floorf(x); }
KUSARI_HOST_DEVICE double floor(double x) { return __builtin_floor(x); }
KUSARI_HOST_DEVICE float ceil(float x) { return __builtin_ceilf(x); }
KUSARI_HOST_DEVICE double ceil(double x) { return __builtin_ceil(x); }
KUSARI_HOST_DEVICE float trunc(float x) { return __builtin_truncf(x); }
KUSARI_HOST_DEVICE double trunc(double x) { return __builtin_trunc(x); }
#else
template <class T>
KUSARI_HOST_DEVICE T floor(T x) {
  const T r = rint(x);
  return copysign(r > x ? r - T(1) : r, x);
}

template <class T>
KUSARI_HOST_DEVICE T ceil(T x) {
  const T r = rint(x);
  return copysign(r < x ? r + T(1) : r, x);
}

template <class T>
KUSARI_HOST_DEVICE T trunc(T x) {
  const T a = abs(x);
  const T r = rint(a);
  return copysign(r > a ? r - T(1) : r, x);
}
#endif
#endif

template <class T>
KUSARI_HOST_DEVICE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

template <class T>
KUSARI_HOST_DEVICE T square(T x) {
  return x * x;
}

}  // namespace kusari::km
