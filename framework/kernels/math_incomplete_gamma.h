#pragma once

#include "kusari/framework/kernels/math_gamma.h"

// The regularized incomplete gamma functions, their derivatives by the parameter, and how a gamma distributed number
// moves with it. In float64 throughout. Not part of math.h, because few formulas want them.

namespace kusari::km {

namespace detail {

/// A function of the parameter a by its value and its first two derivatives.
struct Jet {
  double value, first, second;

  KUSARI_HOST_DEVICE Jet(double v, double d1 = 0.0, double d2 = 0.0) : value{v}, first{d1}, second{d2} {}
};
KUSARI_HOST_DEVICE Jet operator+(const Jet& x, const Jet& y) {
  return {x.value + y.value, x.first + y.first, x.second + y.second};
}
KUSARI_HOST_DEVICE Jet operator-(const Jet& x, const Jet& y) {
  return {x.value - y.value, x.first - y.first, x.second - y.second};
}
KUSARI_HOST_DEVICE Jet operator*(const Jet& x, const Jet& y) {
  return {x.value * y.value, x.first * y.value + x.value * y.first,
          x.second * y.value + 2.0 * x.first * y.first + x.value * y.second};
}
KUSARI_HOST_DEVICE Jet operator/(const Jet& x, const Jet& y) {
  const double q = x.value / y.value, q1 = (x.first - q * y.first) / y.value;
  return {q, q1, (x.second - 2.0 * q1 * y.first - q * y.second) / y.value};
}

KUSARI_HOST_DEVICE double value_of(double x) { return x; }
KUSARI_HOST_DEVICE double value_of(const Jet& x) { return x.value; }
/// Whether adding `part` to `sum` changes nothing any more.
KUSARI_HOST_DEVICE bool is_spent(double part, double sum) { return abs(part) <= 0x1p-54 * abs(sum); }
KUSARI_HOST_DEVICE bool is_spent(const Jet& part, const Jet& sum) {
  return is_spent(part.value, sum.value) && is_spent(part.first, sum.first) && is_spent(part.second, sum.second);
}

/// Whether a product has changed by no more than it is rounded.
KUSARI_HOST_DEVICE bool is_settled(double change, double product) { return abs(change) <= 0x1p-51 * abs(product); }
KUSARI_HOST_DEVICE bool is_settled(const Jet& change, const Jet& product) {
  const double value = abs(product.value), first = value + abs(product.first), second = first + abs(product.second);
  return abs(change.value) <= 0x1p-51 * value && abs(change.first) <= 0x1p-50 * first &&
         abs(change.second) <= 0x1p-48 * second;
}

/// From here on a sum for every x takes too many terms, and expansions for large a are exact enough.
inline constexpr double kLargeShape = 1e6;
/// Bounds the loops below, which need about 8 sqrt(a) steps.
inline constexpr int kMostTerms = 20000;

/// mu - log(1 + mu), exact near 0.
KUSARI_HOST_DEVICE double minus_log1p(double mu) {
  if (abs(mu) > 0.1) return mu - log1p(mu);
  double sum = 0.0, power = mu;
  for (double k = 2.0; k < 24.0; k += 1.0) {
    power *= -mu;
    sum -= power / k;
  }
  return sum;
}

/// gamma(a + 1) = sqrt(2 pi a) (a / e)^a exp(stirling(a)), for a >= 16.
KUSARI_HOST_DEVICE double stirling(double a) {
  const double z = 1.0 / (a * a);
  return horner(z, 1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0) / a;
}

/// x^a exp(-x) / gamma(a + 1); or, for the density, x^(a - 1) exp(-x) / gamma(a + 1).
KUSARI_LONG_HOST_DEVICE double gamma_front(double a, double x, bool is_density = false) {
  if (a < 16.0) return exp((is_density ? a - 1.0 : a) * log(x) - x - lgamma(a + 1.0));
  const double front = exp(-a * minus_log1p((x - a) / a) - stirling(a)) / sqrt(6.28318530717958647693 * a);
  return is_density ? front / x : front;
}

/// S with P(a, x) = front S, for x up to a + 1: the sum of x^n / ((a + 1) ... (a + n)).
template <class Number>
KUSARI_LONG_HOST_DEVICE Number gamma_series(const Number& a, double x) {
  Number term = 1.0, sum = 1.0, n = a;
  for (int k = 0; k < kMostTerms; ++k) {
    n = n + Number(1.0);
    term = term * (Number(x) / n);
    sum = sum + term;
    if (is_spent(term, sum)) break;
  }
  return sum;
}

/// C with Q(a, x) = a front C, for x above a + 1: Legendre's continued fraction by Lentz's method.
template <class Number>
KUSARI_LONG_HOST_DEVICE Number gamma_fraction(const Number& a, double x) {
  Number b = Number(x + 1.0) - a, d = Number(1.0) / b, result = d, c = Number(1e300);
  for (int k = 1; k < kMostTerms; ++k) {
    const Number factor = Number(-1.0 * k) * (Number(1.0 * k) - a);
    b = b + Number(2.0);
    d = Number(1.0) / (factor * d + b);
    c = b + factor / c;
    const Number before = result;
    result = result * (c * d);
    if (is_settled(result - before, result)) break;
  }
  return result;
}

struct GammaShares {
  double below, above;
};

/// P and Q for a >= kLargeShape: Temme's uniform expansion (1979), to terms of 1 / a.
KUSARI_HOST_DEVICE GammaShares large_gamma_shares(double a, double x) {
  const double mu = (x - a) / a;
  if (mu > 0.1) return {1.0, 0.0};
  if (mu < -0.1) return {0.0, 1.0};
  const double phi = minus_log1p(mu), eta = copysign(sqrt(2.0 * phi), mu);
  const double c0 = horner(eta, -1.7875514403292181e-4, 3.527336860670194e-4, 1.1574074074074074e-3,
                           -1.4814814814814815e-2, 8.3333333333333333e-2, -1.0 / 3.0);
  const double c1 = horner(eta, -9.9022633744855967e-4, 2.6455026455026455e-3, -1.0 / 288.0, -1.0 / 540.0);
  const double rest = exp(-a * phi) / sqrt(6.28318530717958647693 * a) * (c0 + c1 / a);
  const double z = eta * sqrt(0.5 * a);
  return {0.5 * erfc(-z) - rest, 0.5 * erfc(z) + rest};
}

/// The lower and the upper regularized incomplete gamma function, P and Q = 1 - P. NaN for a < 0 or x < 0.
KUSARI_LONG_HOST_DEVICE GammaShares gamma_shares(double a, double x) {
  if (!(a >= 0.0) || !(x >= 0.0) || (a == 0.0 && x == 0.0)) return {Real<double>::kNan, Real<double>::kNan};
  if (a == 0.0) return {1.0, 0.0};
  if (x == 0.0) return {0.0, 1.0};
  if (a == Real<double>::kInfinity || x == Real<double>::kInfinity) {
    if (a == x) return {Real<double>::kNan, Real<double>::kNan};
    return a < x ? GammaShares{1.0, 0.0} : GammaShares{0.0, 1.0};
  }
  if (a >= kLargeShape) return large_gamma_shares(a, x);
  const double front = gamma_front(a, x);
  if (x <= a + 1.0) {
    const double below = front * gamma_series(a, x);
    return {below, 1.0 - below};
  }
  const double above = front == 0.0 ? 0.0 : a * front * gamma_fraction(a, x);
  return {1.0 - above, above};
}

/// How fast log(z) grows with a, for the z of a gamma distribution of shape a below which a fixed share lies.
KUSARI_LONG_HOST_DEVICE double log_gamma_quantile_slope(double a, double log_z) {
  if (!(a > 0.0) || a == Real<double>::kInfinity || isnan(log_z)) return Real<double>::kNan;
  const double z = exp(log_z);
  if (a >= kLargeShape) {
    // z = a + n sqrt(a) + (n^2 - 1) / 3 + (n^3 - 7 n) / (36 sqrt(a)) (Cornish and Fisher) for the quantile n of a
    // normal distribution.
    const double root = sqrt(a), first = (z - a) / root, n = first - (first * first - 1.0) / (3.0 * root);
    return (1.0 + n / (2.0 * root) - (n * n * n - 7.0 * n) / (72.0 * a * root)) / z;
  }
  const Jet shape(a, 1.0, 0.0);
  if (z <= a + 1.0) {
    const Jet s = gamma_series(shape, z);
    return -(s.value * (log_z - digamma(a + 1.0)) + s.first) / a;
  }
  const Jet c = gamma_fraction(shape, z);
  return c.value * (log_z - digamma(a)) + c.first;
}

}  // namespace detail

KUSARI_HOST_DEVICE double gammainc(double a, double x) { return detail::gamma_shares(a, x).below; }
KUSARI_HOST_DEVICE double gammaincc(double a, double x) { return detail::gamma_shares(a, x).above; }

/// The derivative of gammainc by x: x^(a - 1) exp(-x) / gamma(a).
KUSARI_HOST_DEVICE double gamma_density(double a, double x) {
  if (!(a > 0.0) || !(x >= 0.0)) return Real<double>::kNan;
  if (x == 0.0) return a < 1.0 ? Real<double>::kInfinity : (a == 1.0 ? 1.0 : 0.0);
  if (x == Real<double>::kInfinity) return 0.0;
  return a * detail::gamma_front(a, x, true);
}

/// The first derivative of gammainc by a (order 1), or the second.
KUSARI_LONG_HOST_DEVICE double gammainc_slope(double a, double x, int order) {
  if (!(a > 0.0) || !(x >= 0.0)) return Real<double>::kNan;
  if (x == 0.0 || x == Real<double>::kInfinity || a == Real<double>::kInfinity) return 0.0;
  if (a >= detail::kLargeShape) {
    const double density = gamma_density(a, x), slope = x * detail::log_gamma_quantile_slope(a, log(x));
    return order == 1 ? -density * slope : density * (0.5 / a - (log(x) - digamma(a)) * slope);
  }
  const detail::Jet shape(a, 1.0, 0.0);
  const double front = detail::gamma_front(a, x);
  if (front == 0.0) return 0.0;
  const bool is_low = x <= a + 1.0;
  const detail::Jet s = is_low ? detail::gamma_series(shape, x) : detail::gamma_fraction(shape, x);
  const double from = is_low ? a + 1.0 : a, size = is_low ? front : -a * front;
  const double l = log(x) - digamma(from);  // the derivative of log(front)
  if (order == 1) return size * (s.value * l + s.first);
  return size * (s.value * (l * l - polygamma(1.0, from)) + 2.0 * l * s.first + s.second);
}

/// The derivative of log z by a of a gamma distributed z of shape a that is moved so that its share stays the same:
/// the implicit reparametrization of Figurnov, Mohamed and Mnih 2018. Finite where z itself would be 0.
KUSARI_HOST_DEVICE double log_gamma_slope(double a, double log_z) { return detail::log_gamma_quantile_slope(a, log_z); }

KUSARI_HOST_DEVICE float gammainc(float a, float x) {
  return static_cast<float>(gammainc(static_cast<double>(a), static_cast<double>(x)));
}
KUSARI_HOST_DEVICE float gammaincc(float a, float x) {
  return static_cast<float>(gammaincc(static_cast<double>(a), static_cast<double>(x)));
}
KUSARI_HOST_DEVICE float gamma_density(float a, float x) {
  return static_cast<float>(gamma_density(static_cast<double>(a), static_cast<double>(x)));
}
KUSARI_HOST_DEVICE float gammainc_slope(float a, float x, int order) {
  return static_cast<float>(gammainc_slope(static_cast<double>(a), static_cast<double>(x), order));
}
KUSARI_HOST_DEVICE float log_gamma_slope(float a, float log_z) {
  return static_cast<float>(log_gamma_slope(static_cast<double>(a), static_cast<double>(log_z)));
}

}  // namespace kusari::km
