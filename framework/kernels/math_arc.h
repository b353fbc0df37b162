#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"

// Inverse trigonometric functions: float32 inlined for the CPU's loops and
// within 3 ulp, float64 by the C library.

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float asin(float x) { return ::asinf(x); }
KUSARI_HOST_DEVICE double asin(double x) { return ::asin(x); }
KUSARI_HOST_DEVICE float acos(float x) { return ::acosf(x); }
KUSARI_HOST_DEVICE double acos(double x) { return ::acos(x); }
KUSARI_HOST_DEVICE float atan(float x) { return ::atanf(x); }
KUSARI_HOST_DEVICE double atan(double x) { return ::atan(x); }
KUSARI_HOST_DEVICE float atan2(float y, float x) { return ::atan2f(y, x); }
KUSARI_HOST_DEVICE double atan2(double y, double x) { return ::atan2(y, x); }
#else
KUSARI_HOST_DEVICE double asin(double x) { return __builtin_asin(x); }
KUSARI_HOST_DEVICE double acos(double x) { return __builtin_acos(x); }
KUSARI_HOST_DEVICE double atan(double x) { return __builtin_atan(x); }
KUSARI_HOST_DEVICE double atan2(double y, double x) { return __builtin_atan2(y, x); }

namespace detail {

constexpr float kPi = 3.14159265358979f, kPiRest = -8.74227766e-8f;  // pi - kPi
constexpr float kHalfPi = 1.57079632679490f, kHalfPiRest = -4.37113883e-8f;
constexpr float kQuarterPi = 0.785398163397448f, kQuarterPiRest = -2.18556941e-8f;

/// asin(a) for a in [0, 0.5]; for larger ones asin(sqrt((1 - a) / 2)), which is (pi / 2 - asin(a)) / 2. NaN above 1.
KUSARI_HOST_DEVICE float half_asin(float a) {
  const bool large = a > 0.5f;
  const float z = large ? 0.5f * (1.0f - a) : a * a, root = sqrt(z), s = large ? root : a;
  const float p = polynomial(z, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f,
                             1.6666752422e-1f);  // Cephes' asinf
  return mad(p * z, s, s);
}

/// atan(small / large) for 0 <= small <= large, large positive and far from overflow.
KUSARI_HOST_DEVICE float atan_of_ratio(float small, float large) {
  const bool upper = small > 0.41421356f * large;  // tan(pi / 8): turned by pi / 4
  const float t = (upper ? small - large : small) / (upper ? small + large : large), z = t * t;
  const float p = polynomial(z, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f);
  const float y = mad(p * z, t, t);  // Cephes' atanf
  return upper ? kQuarterPi + (y + kQuarterPiRest) : y;
}

}  // namespace detail

KUSARI_HOST_DEVICE float asin(float x) {
  const float a = abs(x), p = detail::half_asin(a);
  return copysign(a > 0.5f ? detail::kHalfPi - (p + (p - detail::kHalfPiRest)) : p, x);
}

KUSARI_HOST_DEVICE float acos(float x) {
  const float a = abs(x), p = detail::half_asin(a), twice = p + p;
  const float outer = x < 0.0f ? detail::kPi - (twice - detail::kPiRest) : twice;
  return a > 0.5f ? outer : detail::kHalfPi - (copysign(p, x) - detail::kHalfPiRest);
}

KUSARI_HOST_DEVICE float atan(float x) {
  const float a = abs(x);
  const bool steep = a > 1.0f;
  const float y = detail::atan_of_ratio(steep ? 1.0f : a, steep ? a : 1.0f);
  return copysign(steep ? detail::kHalfPi - (y - detail::kHalfPiRest) : y, x);
}

/// The angle of the point (x, y), in [-pi, pi]; of signed zeros and infinities as in C.
KUSARI_HOST_DEVICE float atan2(float y, float x) {
  const float height = abs(y), width = abs(x);
  const bool steep = height > width;
  float large = steep ? height : width, small = steep ? width : height;
  const bool infinite = small == Real<float>::kInfinity, zero = large == 0.0f;
  small = infinite ? 1.0f : small;  // two infinities make an angle of pi / 4
  large = infinite || zero ? 1.0f : large;
  const float scale = large > 1e37f ? 0.125f : 1.0f;  // small + large must be finite
  float angle = detail::atan_of_ratio(small * scale, large * scale);
  angle = steep ? detail::kHalfPi - (angle - detail::kHalfPiRest) : angle;
  const bool left = copysign(1.0f, x) < 0.0f;
  angle = left ? detail::kPi - (angle - detail::kPiRest) : angle;
  return isnan(x) || isnan(y) ? x + y : copysign(angle, y);
}
#endif

}  // namespace kusari::km
