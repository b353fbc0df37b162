#pragma once

#include "kusari/framework/kernels/math_incomplete_gamma.h"

// The regularized incomplete beta function and its derivatives. In float64 throughout. Not part of math.h, because few
// formulas want them.

namespace kusari::km {

namespace detail {

/// lgamma(b) - lgamma(a + b) for b >= 16, exact where b is large.
KUSARI_HOST_DEVICE double log_gamma_ratio(double b, double a) {
  const double sum = a + b;
  return a - (b - 0.5) * log1p(a / b) - a * log(sum) + (stirling(b) - stirling(sum));
}

/// x^a y^b / B(a, b) for y = 1 - x; or, for the density, x^(a - 1) y^(b - 1) / B(a, b).
KUSARI_LONG_HOST_DEVICE double beta_front(double a, double b, double x, double y, bool is_density = false) {
  const double low = a < b ? a : b, high = a < b ? b : a, sum = a + b;
  if (low >= 16.0) {
    const double distance = x * b - y * a;  // of x from a / (a + b), times a + b
    const double exponent = -a * minus_log1p(distance / a) - b * minus_log1p(-distance / b);
    const double front =
        exp(exponent + (stirling(sum) - stirling(a) - stirling(b))) * sqrt(a / 6.28318530717958647693 * (b / sum));
    return is_density ? front / (x * y) : front;
  }
  const double log_beta = lgamma(low) + (high >= 16.0 ? log_gamma_ratio(high, low) : lgamma(high) - lgamma(sum));
  const double log_x = x < 0.5 ? log(x) : log1p(-y), log_y = x < 0.5 ? log1p(-x) : log(y);
  const double exponent = (is_density ? a - 1.0 : a) * log_x + (is_density ? b - 1.0 : b) * log_y;
  return exp(exponent - log_beta);
}

/// C with I_x(a, b) = front C / a, for x up to (a + 1) / (a + b + 2): a continued fraction by Lentz's method.
template <class Number>
KUSARI_LONG_HOST_DEVICE Number beta_fraction(const Number& a, const Number& b, double x) {
  const Number one = 1.0, sum = a + b, at = x;
  Number c = one, d = one / (one - sum * at / (a + one)), result = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const Number step = 1.0 * m, twice = a + step + step;
    const Number even = step * (b - step) * at / ((twice - one) * twice);
    d = one / (one + even * d);
    c = one + even / c;
    const Number before = result;
    result = result * (c * d);
    const Number odd = Number(-1.0) * (a + step) * (sum + step) * at / (twice * (twice + one));
    d = one / (one + odd * d);
    c = one + odd / c;
    result = result * (c * d);
    if (is_settled(result - before, result)) break;
  }
  return result;
}

KUSARI_HOST_DEVICE bool are_beta_arguments(double a, double b, double x) {
  const double limit = Real<double>::kInfinity;
  return a > 0.0 && b > 0.0 && a < limit && b < limit && x >= 0.0 && x <= 1.0;
}
/// Whether the fraction for x, a, b converges, and not that for 1 - x, b, a.
KUSARI_HOST_DEVICE bool is_low_beta(double a, double b, double x) { return x <= (a + 1.0) / (a + b + 2.0); }

struct BetaShares {
  double below, above;
};

/// I_x(a, b) and I_y(b, a) for y = 1 - x; both within (0, 1).
KUSARI_LONG_HOST_DEVICE BetaShares beta_shares(double a, double b, double x, double y) {
  const double front = beta_front(a, b, x, y);
  if (is_low_beta(a, b, x)) {
    const double below = front == 0.0 ? 0.0 : front * beta_fraction(a, b, x) / a;
    return {below, 1.0 - below};
  }
  const double above = front == 0.0 ? 0.0 : front * beta_fraction(b, a, y) / b;
  return {1.0 - above, above};
}

}  // namespace detail

/// The regularized incomplete beta function I_x(a, b), for finite a, b > 0 and x in [0, 1]; otherwise NaN.
KUSARI_HOST_DEVICE double betainc(double a, double b, double x) {
  if (!detail::are_beta_arguments(a, b, x)) return Real<double>::kNan;
  if (x == 0.0 || x == 1.0) return x;
  return detail::beta_shares(a, b, x, 1.0 - x).below;
}

/// The derivative of betainc by x: x^(a - 1) (1 - x)^(b - 1) / B(a, b).
KUSARI_HOST_DEVICE double beta_density(double a, double b, double x) {
  if (!detail::are_beta_arguments(a, b, x)) return Real<double>::kNan;
  if (x == 0.0) return a < 1.0 ? Real<double>::kInfinity : (a == 1.0 ? b : 0.0);
  if (x == 1.0) return b < 1.0 ? Real<double>::kInfinity : (b == 1.0 ? a : 0.0);
  return detail::beta_front(a, b, x, 1.0 - x, true);
}

/// The derivative of betainc by a; that by b is -betainc_slope(b, a, 1 - x).
KUSARI_LONG_HOST_DEVICE double betainc_slope(double a, double b, double x) {
  if (!detail::are_beta_arguments(a, b, x)) return Real<double>::kNan;
  if (x == 0.0 || x == 1.0) return 0.0;
  const double y = 1.0 - x, front = detail::beta_front(a, b, x, y);
  if (front == 0.0) return 0.0;
  const detail::Jet moving(a, 1.0), still(b);
  const bool is_low = detail::is_low_beta(a, b, x);
  const detail::Jet share =
      is_low ? detail::beta_fraction(moving, still, x) / moving : detail::beta_fraction(still, moving, y) / still;
  const double l = log(x) + digamma(a + b) - digamma(a);  // the derivative of log(front)
  return (is_low ? front : -front) * (share.value * l + share.first);
}

KUSARI_HOST_DEVICE float betainc(float a, float b, float x) {
  return static_cast<float>(betainc(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
}
KUSARI_HOST_DEVICE float beta_density(float a, float b, float x) {
  return static_cast<float>(beta_density(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
}
KUSARI_HOST_DEVICE float betainc_slope(float a, float b, float x) {
  return static_cast<float>(betainc_slope(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
}

}  // namespace kusari::km
