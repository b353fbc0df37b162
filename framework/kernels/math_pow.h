#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"
#include "kusari/framework/kernels/math_explog.h"

namespace kusari::km {

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float pow(float x, float y) { return ::powf(x, y); }
KUSARI_HOST_DEVICE double pow(double x, double y) { return ::pow(x, y); }
#else
namespace detail {

/// An unevaluated sum high + low.
struct Pair {
  double high;
  double low;
};

/// a * b exactly.
KUSARI_HOST_DEVICE Pair exact_product(double a, double b) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const double p = a * b;
  return {p, __builtin_fma(a, b, -p)};
#else  // Dekker 1971
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double ca = a * kSplit, cb = b * kSplit;
  const double a1 = ca - (ca - a), a2 = a - a1, b1 = cb - (cb - b), b2 = b - b1;
  const double p = a * b;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

/// a + b exactly, for |a| >= |b| or a == 0.
KUSARI_HOST_DEVICE Pair exact_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// log(x) for a positive finite x with a relative error near 2^-66.
KUSARI_HOST_DEVICE Pair log_pair(double x) {
  const Split<double> split_x = split(x);
  const double f = split_x.mantissa - 1.0;
  // s = f / (2 + f) in two parts; log(1 + f) = 2 s + s^3 (2/3 + s^2 (2/5 + ...))
  const Pair divisor = exact_sum(2.0, f);
  const double s = f / divisor.high;
  const Pair back = exact_product(s, divisor.high);
  const double s_low = (((f - back.high) - back.low) - s * divisor.low) / divisor.high;
  const Pair z = exact_product(s, s);
  const double z_low = z.low + 2.0 * s * s_low;
  const double r = polynomial(z.high, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0,
                              2.0 / 7.0, 2.0 / 5.0);
  constexpr double kThirds = 2.0 / 3.0, kThirdsLow = 3.7007434154171886e-17;  // 2/3 in two parts
  const Pair c = exact_sum(kThirds, r * z.high);
  const Pair cz = exact_product(c.high, z.high);  // s^2 (2/3 + ...)
  const double cz_low = cz.low + (c.high * z_low + (c.low + kThirdsLow) * z.high);
  const Pair tail = exact_product(cz.high, s);
  const double tail_low = tail.low + (cz_low * s + cz.high * s_low);
  const Pair m = exact_sum(2.0 * s, tail.high);
  const double m_low = m.low + (2.0 * s_low + tail_low);
  const Pair e = exact_sum(split_x.e * 6.93147180369123816490e-01, m.high);
  // the product with the high part of ln 2 is exact; the low part is itself given in two parts
  const Pair e_low = exact_product(split_x.e, 1.90821492927058770002e-10);
  const double low = (e.low + m_low) + (e_low.high + e_low.low);
  return exact_sum(e.high, low);
}

/// Gives pow its special values; y_pow is pow(|x|, y).
template <class T>
KUSARI_HOST_DEVICE T fix_pow(T x, T y, T y_pow) {
  const T half = y * T(0.5);
  const bool integral = floor(y) == y, odd = integral && floor(half) != half;
  const bool negative = copysign(T(1), x) < T(0);
  T r = y_pow;
  r = (negative && odd) ? -r : r;
  r = (x < T(0) && !integral && x > -Real<T>::kInfinity) ? Real<T>::kNan : r;
  r = (x == T(-1) && abs(y) == Real<T>::kInfinity) ? T(1) : r;
  return (x == T(1) || y == T(0)) ? T(1) : r;
}

}  // namespace detail

KUSARI_HOST_DEVICE float pow(float x, float y) {
  return detail::fix_pow(x, y, static_cast<float>(exp(static_cast<double>(y) * log(static_cast<double>(abs(x))))));
}

KUSARI_HOST_DEVICE double pow(double x, double y) {
  const double a = abs(x);
  const bool regular = a > 0.0 && a < Real<double>::kInfinity;
  const detail::Pair log_a = detail::log_pair(regular ? a : 1.0);
  // Factors beyond 2^66 decide the result by their sign alone, and could not be split.
  const double bounded = y > 0x1p66 ? 0x1p66 : (y < -0x1p66 ? -0x1p66 : y);
  const detail::Pair product = detail::exact_product(bounded, log_a.high);
  const double low = product.low + bounded * log_a.low;
  const double power = exp(product.high);
  const double refined = (abs(product.high) < 746.0 && power < Real<double>::kInfinity) ? power + power * low : power;
  return detail::fix_pow(x, y, regular ? refined : exp(y * log(a)));
}
#endif

/// Integer powers by squaring, wrapping on overflow; a negative exponent gives the truncated quotient (0 for 0).
KUSARI_HOST_DEVICE i64 pow(i64 x, i64 y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0);
  u64 result = 1, base = static_cast<u64>(x);
  for (u64 left = static_cast<u64>(y); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<i64>(result);
}

}  // namespace kusari::km
