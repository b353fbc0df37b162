#pragma once

#include "kusari/framework/kernels/math.h"

// The normal distribution and the error functions that the C library lacks: the CUDA library on the GPU; on the CPU in
// float64 throughout, so that float results are correctly rounded but for rare ties; double results are within 8 ulp.
// Not part of math.h, because few formulas want them.

namespace kusari::km {

namespace detail {

/// exp(scale * x^2) for a power of two `scale`, without the rounding error of the square. |x| must be small enough for
/// a finite square.
KUSARI_HOST_DEVICE double exp_square(double x, double scale) {
  const double high = trunc(x * 16.0) * 0.0625, low = (x - high) * (x + high);
  return exp(scale * high * high) * exp(scale * low);
}

}  // namespace detail

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float erfcx(float x) { return ::erfcxf(x); }
KUSARI_HOST_DEVICE double erfcx(double x) { return ::erfcx(x); }
KUSARI_HOST_DEVICE float erfinv(float x) { return ::erfinvf(x); }
KUSARI_HOST_DEVICE double erfinv(double x) { return ::erfinv(x); }
KUSARI_HOST_DEVICE float erfcinv(float x) { return ::erfcinvf(x); }
KUSARI_HOST_DEVICE double erfcinv(double x) { return ::erfcinv(x); }
KUSARI_HOST_DEVICE float ndtr(float x) { return ::normcdff(x); }
KUSARI_HOST_DEVICE double ndtr(double x) { return ::normcdf(x); }
KUSARI_HOST_DEVICE float ndtri(float x) { return ::normcdfinvf(x); }
KUSARI_HOST_DEVICE double ndtri(double x) { return ::normcdfinv(x); }
#else
namespace detail {

/// exp(y^2) erfc(y) for y >= 0.46875: W. J. Cody 1969, the coefficients of his CALERF.
KUSARI_HOST_DEVICE double erfcx_of_large(double y) {
  if (y <= 4.0) {
    const double p = polynomial(y, 2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
                                6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
                                1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3);
    const double q =
        polynomial(y, 1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                   3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3);
    return p / q;
  }
  const double z = 1.0 / (y * y);
  const double p = polynomial(z, 1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                              1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4);
  const double q = polynomial(z, 1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
                              6.05183413124413191e-2, 2.33520497626869185e-3);
  return (0.56418958354775628695 - z * (p / q)) / y;
}

/// The x at which the normal distribution function is 1/2 + q, given twice the smaller of it and of what it lacks of 1,
/// which q may not tell exactly: M. J. Wichura 1988, AS 241.
KUSARI_HOST_DEVICE double normal_quantile(double q, double two_tails) {
  if (abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           polynomial(r, 2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
                      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080) /
           polynomial(r, 5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
                      5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0);
  }
  if (two_tails == 0.0) return copysign(Real<double>::kInfinity, q);
  const double r = sqrt(0.69314718055994530942 - log(two_tails));  // NaN outside the domain
  double x;
  if (r <= 5.0) {
    const double t = r - 1.6;
    x = polynomial(t, 7.74545014278341407640e-4, 0.0227238449892691845833, 0.241780725177450611770,
                   1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590,
                   1.42343711074968357734) /
        polynomial(t, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 0.0151986665636164571966,
                   0.148103976427480074590, 0.689767334985100004550, 1.67638483018380384940, 2.05319162663775882187,
                   1.0);
  } else {
    const double t = r - 5.0;
    x = polynomial(t, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.00124266094738807843860,
                   0.0265321895265761230930, 0.296560571828504891230, 1.78482653991729133580, 5.46378491116411436990,
                   6.65790464350110377720) /
        polynomial(t, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                   7.86869131145613259100e-4, 0.0148753612908506148525, 0.136929880922735805310,
                   0.599832206555887937690, 1.0);
  }
  return q < 0.0 ? -x : x;
}

constexpr double kSqrtHalf = 0.70710678118654752440;

}  // namespace detail

/// exp(x^2) erfc(x).
KUSARI_HOST_DEVICE double erfcx(double x) {
  if (abs(x) < 0.46875) return exp(x * x) * erfc(x);
  if (x < -27.0) return Real<double>::kInfinity;
  return x < 0.0 ? 2.0 * detail::exp_square(x, 1.0) - detail::erfcx_of_large(-x) : detail::erfcx_of_large(x);
}

/// The normal distribution function.
KUSARI_HOST_DEVICE double ndtr(double x) {
  const double t = -x * detail::kSqrtHalf;
  if (!(x < -1.0)) return 0.5 * erfc(t);
  if (x < -40.0) return 0.0;
  return 0.5 * detail::erfcx_of_large(t) * detail::exp_square(x, -0.5);
}

/// The inverse of erf: infinite at -1 and 1, NaN beyond.
KUSARI_HOST_DEVICE double erfinv(double x) {
  return detail::normal_quantile(0.5 * x, 1.0 - abs(x)) * detail::kSqrtHalf;
}

/// The inverse of erfc: infinite at 0 and 2, NaN beyond.
KUSARI_HOST_DEVICE double erfcinv(double x) {
  return detail::normal_quantile(0.5 * (1.0 - x), x < 1.0 ? x : 2.0 - x) * detail::kSqrtHalf;
}

/// The inverse of ndtr: infinite at 0 and 1, NaN beyond.
KUSARI_HOST_DEVICE double ndtri(double x) { return detail::normal_quantile(x - 0.5, 2.0 * (x < 0.5 ? x : 1.0 - x)); }

KUSARI_HOST_DEVICE float erfcx(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
KUSARI_HOST_DEVICE float ndtr(float x) { return static_cast<float>(ndtr(static_cast<double>(x))); }
KUSARI_HOST_DEVICE float erfinv(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }
KUSARI_HOST_DEVICE float erfcinv(float x) { return static_cast<float>(erfcinv(static_cast<double>(x))); }
KUSARI_HOST_DEVICE float ndtri(float x) { return static_cast<float>(ndtri(static_cast<double>(x))); }
#endif

/// log(ndtr(x)), also where ndtr(x) is 0 or 1.
KUSARI_HOST_DEVICE double log_ndtr(double x) {
  if (!(x < -1.0)) return log1p(-ndtr(-x));
  return log(0.5 * erfcx(-x * 0.70710678118654752440)) - 0.5 * x * x;
}
KUSARI_HOST_DEVICE float log_ndtr(float x) { return static_cast<float>(log_ndtr(static_cast<double>(x))); }

/// The derivative of log_ndtr: the density of the normal distribution over its distribution function.
KUSARI_HOST_DEVICE double log_ndtr_grad(double x) {
  if (x < 0.0) return 0.79788456080286535588 / erfcx(-x * 0.70710678118654752440);  // sqrt(2 / pi)
  return x > 40.0 ? 0.0 : 0.39894228040143267794 * detail::exp_square(x, -0.5) / ndtr(x);
}
KUSARI_HOST_DEVICE float log_ndtr_grad(float x) { return static_cast<float>(log_ndtr_grad(static_cast<double>(x))); }

}  // namespace kusari::km
