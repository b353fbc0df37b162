#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"
#include "kusari/framework/kernels/math_explog.h"

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float lgamma(float x) { return ::lgammaf(x); }
KUSARI_HOST_DEVICE double lgamma(double x) { return ::lgamma(x); }
#else
namespace detail {

/// log(gamma(x)) for positive finite x: within 3e-16 times the larger of 1 and its size.
KUSARI_HOST_DEVICE double lgamma_of_positive(double x) {
  const bool is_large = x >= 4.0;
  // Below 4: x is brought to s + 2 with 0 <= s < 1, and the logarithm of what that divides by is added.
  const double s = x < 1.0 ? x : (x < 2.0 ? x - 1.0 : (x < 3.0 ? x - 2.0 : x - 3.0));
  const double factor = x < 1.0 ? x * (x + 1.0) : (x < 2.0 ? x : (x < 3.0 ? 1.0 : x - 1.0));
  const double log_factor = log_of_normal(is_large ? x : factor);
  // log(gamma(2 + s)) = s * p / q + s / 2: fdlibm's e_lgamma_r.c
  const double p = polynomial(s, 3.19475326584100867617e-05, 1.84028451407337715652e-03, 2.66422703033638609560e-02,
                              1.46350472652464452805e-01, 3.25778796408930981787e-01, 2.14982415960608852501e-01,
                              -7.72156649015328655494e-02);
  const double q = polynomial(s, 7.32668430744625636189e-06, 7.77942496381893596434e-04, 1.86459191715652901344e-02,
                              1.71933865632803078993e-01, 7.21935547567138069525e-01, 1.39200533467621045958e+00, 1.0);
  const double quotient = (is_large ? 1.0 : s * p) / (is_large ? x : q);
  const double small = (quotient + 0.5 * s) + (x < 2.0 ? -log_factor : log_factor);
  // Stirling's formula: (x - 1/2) (log(x) - 1) + log(2 pi) / 2 - 1/2 + series(1 / x^2) / x; minimax, error 1.1e-15
  const double z = quotient * quotient;
  const double series =
      polynomial(z, 0.0028786280631319366836, -0.0016760095482032286027, 8.3258358888893938804e-4,
                 -5.9505134152534345093e-4, 7.936489447205904772e-4, -2.7777777708487780233e-3, 0.08333333333332908198);
  const double large = (x - 0.5) * (log_factor - 1.0) + (quotient * series + 4.18938533204672725052e-01);
  return is_large ? large : small;
}

/// sin(pi * r) / pi for 0 <= r <= 1/2: minimax, error 1.5e-16.
KUSARI_HOST_DEVICE double sin_pi_over_pi(double r) {
  return r * polynomial(r * r, -6.723645381618585794e-6, 1.4832528288582617511e-4, -2.34605879412572187e-3,
                        0.026147845158365046262, -0.19075182394858494202, 0.81174242527776151423,
                        -1.6449340668481572235, 0.99999999999999985788);
}

}  // namespace detail

/// log(|gamma(x)|), infinite at 0, -1, -2, ... In float64 throughout, because terms cancel near the roots: within 0.51
/// ulp.
KUSARI_HOST_DEVICE float lgamma(float x) {
  const double wide = static_cast<double>(x), a = abs(wide);
  const double y = detail::lgamma_of_positive(a);
  // gamma(x) gamma(-x) = -pi / (x sin(pi x))
  const double sine = detail::sin_pi_over_pi(static_cast<double>(abs(x - rint(x))));
  const double reflected = sine == 0.0 ? Real<double>::kInfinity : -detail::log_of_normal(a * sine) - y;
  const double value = wide > 0.0 ? y : reflected;
  return static_cast<float>(a < Real<double>::kInfinity ? value : a);
}
/// By the C library.
KUSARI_HOST_DEVICE double lgamma(double x) { return __builtin_lgamma(x); }
#endif

}  // namespace kusari::km
