#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"
#include "kusari/framework/kernels/math_explog.h"

// The error function: float32 inlined for the CPU's loops, float64 by the C library.

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float erf(float x) { return ::erff(x); }
KUSARI_HOST_DEVICE double erf(double x) { return ::erf(x); }
KUSARI_HOST_DEVICE float erfc(float x) { return ::erfcf(x); }
KUSARI_HOST_DEVICE double erfc(double x) { return ::erfc(x); }
#else
KUSARI_HOST_DEVICE double erf(double x) { return __builtin_erf(x); }
KUSARI_HOST_DEVICE double erfc(double x) { return __builtin_erfc(x); }

/// 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
KUSARI_HOST_DEVICE float erf(float x) {
  const float a = abs(x), z = x * x, t = a > 4.0f ? 4.0f : a;
  // erf(x) / x - 1, minimax for x^2 up to 0.92, error 2^-30.
  const float near = detail::polynomial(z, 8.14997332349e-5f, -0.000808957134784f, 0.00519627024964f, -0.0268574554496f,
                                        0.112836602385f, -0.376126314453f, 0.128379166404f);
  // -log(1 - erf(t)) on [0.93, 4], minimax for the error of erf, 2^-34.
  const float far = detail::polynomial(t, 2.12935342131e-5f, -0.000436744753469f, 0.00418205862491f, -0.0251482170019f,
                                       0.108324352296f, 0.633306920965f, 1.12953459621f, -0.000178749921623f);
  const float y = copysign(1.0f - exp(-far), x);
  return isnan(x) ? x : (a < 0.94f ? detail::mad(x, near, x) : y);
}

/// 1 - erf(x) without cancellation. In float64, because exp(-x^2) multiplies the rounding of x^2 by x^2.
KUSARI_HOST_DEVICE float erfc(float x) {
  const double a = abs(static_cast<double>(x)), t = a > 10.4 ? 10.4 : a;
  const double q = (t - 2.0) / (t + 2.0);
  // exp(t^2) erfc(t) (1 + 2 t) on [0, 10.4], minimax, error 2^-32.
  const double p =
      detail::polynomial(q, 1.70090413844e-5, 0.000114666408478, 0.000167155190349, -0.000443398888562,
                         -0.00143352949065, 0.0012715936846, 0.00871644273322, -0.00803459770098, -0.0542192389658,
                         0.16405135258, -0.166030433014, -0.0927638285193, 1.27697838183);
  const double y = exp(-t * t) * p / (1.0 + 2.0 * t);
  return static_cast<float>(isnan(x) ? static_cast<double>(x) : (x < 0.0f ? 2.0 - y : y));
}
#endif

}  // namespace kusari::km
