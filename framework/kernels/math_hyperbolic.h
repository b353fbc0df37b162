#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"
#include "kusari/framework/kernels/math_explog.h"

// Hyperbolic functions beside tanh and their inverses: float32 inlined for the CPU's loops and
// within 3 ulp, float64 by the C library.

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float sinh(float x) { return ::sinhf(x); }
KUSARI_HOST_DEVICE double sinh(double x) { return ::sinh(x); }
KUSARI_HOST_DEVICE float cosh(float x) { return ::coshf(x); }
KUSARI_HOST_DEVICE double cosh(double x) { return ::cosh(x); }
KUSARI_HOST_DEVICE float asinh(float x) { return ::asinhf(x); }
KUSARI_HOST_DEVICE double asinh(double x) { return ::asinh(x); }
KUSARI_HOST_DEVICE float acosh(float x) { return ::acoshf(x); }
KUSARI_HOST_DEVICE double acosh(double x) { return ::acosh(x); }
KUSARI_HOST_DEVICE float atanh(float x) { return ::atanhf(x); }
KUSARI_HOST_DEVICE double atanh(double x) { return ::atanh(x); }
#else
KUSARI_HOST_DEVICE double sinh(double x) { return __builtin_sinh(x); }
KUSARI_HOST_DEVICE double cosh(double x) { return __builtin_cosh(x); }
KUSARI_HOST_DEVICE double asinh(double x) { return __builtin_asinh(x); }
KUSARI_HOST_DEVICE double acosh(double x) { return __builtin_acosh(x); }
KUSARI_HOST_DEVICE double atanh(double x) { return __builtin_atanh(x); }

namespace detail {

constexpr float kHyperbolicLimit = 89.5f;  // beyond it sinh and cosh are infinite

/// exp(a) / 4 and (exp(a) - 1) / 4 for a in [0, kHyperbolicLimit], where exp itself would overflow.
struct QuarterExp {
  float exp;
  float expm1;
};
KUSARI_HOST_DEVICE QuarterExp quarter_exp(float a) {
  const auto p = exp_parts<125>(a);
  const float scale = pow2_of_field(p.bits);
  return {mad(scale, p.expm1_r, scale), mad(scale, p.expm1_r, scale - 0.25f)};
}

}  // namespace detail

KUSARI_HOST_DEVICE float sinh(float x) {
  const float a = abs(x);
  const float q = detail::quarter_exp(a > detail::kHyperbolicLimit ? detail::kHyperbolicLimit : a).expm1;
  float y = 2.0f * (q + q / detail::mad(4.0f, q, 1.0f));  // (e + e / (e + 1)) / 2 with e = exp(a) - 1 = 4 q
  y = a > detail::kHyperbolicLimit ? Real<float>::kInfinity : y;
  return a < 3e-4f ? x : copysign(y, x);  // there the next term is below half a unit; keeps denormals
}

KUSARI_HOST_DEVICE float cosh(float x) {
  const float a = abs(x);
  const float q = detail::quarter_exp(a > detail::kHyperbolicLimit ? detail::kHyperbolicLimit : a).exp;
  const float y = 2.0f * (q + 0.0625f / q);
  return a > detail::kHyperbolicLimit ? Real<float>::kInfinity : y;
}

KUSARI_HOST_DEVICE float asinh(float x) {
  const float a = abs(x);
  const bool large = a > 1e10f;  // whose square overflows: log(2 a)
  const float square = large ? 0.0f : a * a;
  const float y = log1p(large ? a : a + square / (1.0f + sqrt(square + 1.0f)));
  return copysign(large ? y + 0.693147181f : y, x);
}

/// NaN below 1.
KUSARI_HOST_DEVICE float acosh(float x) {
  const bool large = x > 1e10f;
  const float t = x - 1.0f, rest = large ? 0.0f : sqrt(t * (t + 2.0f));
  const float y = log1p(t + rest);
  return x < 1.0f ? Real<float>::kNan : (large ? y + 0.693147181f : y);
}

/// Infinite at 1, NaN beyond.
KUSARI_HOST_DEVICE float atanh(float x) {
  const float a = abs(x), y = 0.5f * log1p((a + a) / (1.0f - a));
  return a > 1.0f ? Real<float>::kNan : copysign(y, x);
}
#endif

}  // namespace kusari::km
