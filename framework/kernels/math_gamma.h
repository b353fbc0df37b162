#pragma once

#include "kusari/framework/kernels/math.h"

// The derivatives of lgamma and the sums that they are, in float64 throughout: float results are correctly rounded but
// for rare ties. Not part of math.h, because few formulas want them.

/// Marks a long function that loops until its sum is exact: the CPU computes such formulas element by element, and has
/// one copy of it in each source, without a name that sources share.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define KUSARI_LONG_HOST_DEVICE KUSARI_HOST_DEVICE
#else
#define KUSARI_LONG_HOST_DEVICE __attribute__((noinline, unused)) static
#endif

namespace kusari::km {

namespace detail {

/// Coefficients from the highest power down, by Horner's rule; on every device.
KUSARI_HOST_DEVICE double horner(double, double c) { return c; }
template <class... Rest>
KUSARI_HOST_DEVICE double horner(double x, double c1, double c0, Rest... rest) {
  return horner(x, c1 * x + c0, rest...);
}

/// digamma for 1 <= x <= 2, exact at its root as well: Boost.Math's digamma.hpp (J. Maddock 2006).
KUSARI_HOST_DEVICE double digamma_1_2(double x) {
  const double g = ((x - 1569415565.0 / 1073741824.0) - (381566830.0 / 1073741824.0) / 1073741824.0) -
                   0.9016312093258695918615325266959189453125e-19;  // x - root
  const double u = x - 1.0;
  const double p = horner(u, -0.0020713321167745952, -0.045251321448739056, -0.28919126444774784, -0.65031853770896507,
                          -0.32555031186804491, 0.25479851061131551);
  const double q = horner(u, -0.55789841321675513e-6, 0.0021284987017821144, 0.054151797245674225, 0.43593529692665969,
                          1.4606242909763515, 2.0767117023730469, 1.0);
  return g * 0.99558162689208984375 + g * (p / q);
}

/// a^-s exp(log_factor).
KUSARI_LONG_HOST_DEVICE double scaled_power(double a, double s, double log_factor) {
  return log_factor == 0.0 ? pow(a, -s) : exp(log_factor - s * log(a));
}

/// The Hurwitz zeta function for s > 1 and q > 0, within 12 ulp; or exp(log_factor) times it, as exact as the
/// difference of log_factor and s log(q) is.
KUSARI_LONG_HOST_DEVICE double zeta_of_positive(double s, double q, double log_factor = 0.0) {
  if (q == Real<double>::kInfinity) return 0.0;
  // Euler's and Maclaurin's sum from an a that makes its terms shrink at once.
  const double first = s < 6.0 ? 12.0 : 2.0 * s;
  double sum = 0.0, a = q;
  for (; a < first; a += 1.0) {
    const double term = scaled_power(a, s, log_factor);
    sum += term;
    // NaN ends it too, and an a that stays as it is.
    if (!(term > 0x1p-54 * sum) || a >= 0x1p53) return sum;
  }
  // B(2k) / (2k)!
  const double c[] = {1.0 / 12,
                      -1.0 / 720,
                      1.0 / 30240,
                      -1.0 / 1209600,
                      1.0 / 47900160,
                      -1.0 / 1.8924375803183791606e9,
                      1.0 / 7.47242496e10,
                      -1.0 / 2.950130727918164224e12,
                      1.0 / 1.1646782814350067249e14,
                      -1.0 / 4.5979787224074726105e15,
                      1.0 / 1.8152105401943546773e17,
                      -1.0 / 7.1661652561756670113e18};
  double series = 0.0;
  for (int k = 11; k >= 0; --k) {
    series = c[k] + series * ((s + (2 * k + 1)) / a) * ((s + (2 * k + 2)) / a);
  }
  // Not by a^-s, which may be 0 for a large a.
  return sum + scaled_power(a, s - 1.0, log_factor) * (1.0 / (s - 1.0) + (0.5 + s / a * series) / a);
}

}  // namespace detail

/// The derivative of lgamma: within 4 ulp for x > 0, else within 4e-16 of the larger of 1 and its terms. -inf at 0 (inf
/// at -0), NaN at negative integers.
KUSARI_HOST_DEVICE double digamma(double x) {
  double result = 0.0;
  if (x <= 0.0) {
    if (x == 0.0) return -copysign(Real<double>::kInfinity, x);
    const double r = x - rint(x);
    if (r == 0.0 || x == -Real<double>::kInfinity) return Real<double>::kNan;
    result = -3.14159265358979323846 / tan(3.14159265358979323846 * r);
    x = 1.0 - x;
  }
  if (x < 10.0) {
    if (x < 1.0) {
      result -= 1.0 / x;
      x += 1.0;
    }
    for (; x > 2.0; result += 1.0 / x) x -= 1.0;
    return result + detail::digamma_1_2(x);
  }
  const double z = 1.0 / (x * x);
  const double series = detail::horner(z, -3617.0 / 8160, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252,
                                       -1.0 / 120, 1.0 / 12);  // B(2k) / 2k
  return result + (log(x) - (0.5 / x + z * series));
}

/// The Hurwitz zeta function: the sum of (q + k)^-s for k = 0, 1, ... Infinite for s = 1 and at the poles q = 0, -1,
/// ...; NaN for s < 1, and for other q < 0 unless s is integral. With log_factor: exp(log_factor) times it, whatever
/// the size of both.
KUSARI_LONG_HOST_DEVICE double zeta(double s, double q, double log_factor = 0.0) {
  if (s == 1.0) return Real<double>::kInfinity;
  if (!(s > 1.0)) return Real<double>::kNan;
  if (q > 0.0 || isnan(q)) return detail::zeta_of_positive(s, q, log_factor);
  if (q == floor(q)) return Real<double>::kInfinity;
  if (s != floor(s)) return Real<double>::kNan;
  // The terms with a negative base are those of two other sums; `part` and 1 - part begin what is left.
  const double part = -q - floor(-q);
  const double positive = detail::zeta_of_positive(s, 1.0 - part, log_factor);
  const bool is_odd = s * 0.5 != floor(s * 0.5);
  if (!is_odd && q > -1.0) return positive + detail::scaled_power(-q, s, log_factor);
  const double behind = detail::zeta_of_positive(s, 1.0 - q, log_factor);
  if (is_odd && part == 0.5) return behind;  // the others cancel, and may be infinite
  const double before = detail::zeta_of_positive(s, part, log_factor);
  // First what cancels: near half-integers it is much larger than what is left.
  return is_odd ? (positive - before) + behind : positive + (before - behind);
}

/// The n-th derivative of digamma, for integral n >= 0; otherwise NaN.
KUSARI_LONG_HOST_DEVICE double polygamma(double n, double x) {
  if (n == 0.0) return digamma(x);
  if (!(n > 0.0) || n != floor(n)) return Real<double>::kNan;
  double factorial = 1.0;
  for (double k = 2.0; k <= n && k < 171.0; k += 1.0) factorial *= k;  // 171! is infinite
  double size = zeta(n + 1.0, x);
  // Where either is beyond the range of doubles, the product may not be.
  size = n < 171.0 && abs(size) > 1e-290 ? factorial * size : zeta(n + 1.0, x, lgamma(n + 1.0));
  return n * 0.5 != floor(n * 0.5) ? size : -size;
}

KUSARI_HOST_DEVICE float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }
KUSARI_HOST_DEVICE float zeta(float s, float q) {
  return static_cast<float>(zeta(static_cast<double>(s), static_cast<double>(q)));
}
KUSARI_HOST_DEVICE float polygamma(float n, float x) {
  return static_cast<float>(polygamma(static_cast<double>(n), static_cast<double>(x)));
}

}  // namespace kusari::km
