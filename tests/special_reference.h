#pragma once

#include <cmath>
#include <limits>
#include <numbers>

// Special functions that the C++ library lacks, by definitions and series that need many terms, in long double: what
// tests compare the library's formulas with. Exact to float64's last digit, but not where results cancel.
namespace kusari::testing {

/// The sum of (q + k)^-s, for s > 1.
inline long double zeta_reference(long double s, long double q) {
  long double sum = 0;
  while (q < 200 + 4 * s) sum += std::pow(q++, -s);
  // Euler and Maclaurin
  const long double power = std::pow(q, -s), r = 1 / (q * q);
  return sum + power * (q / (s - 1) + 0.5L +
                        s / (12 * q) *
                            (1 - (s + 1) * (s + 2) * r / 60 *
                                     (1 - (s + 3) * (s + 4) * r / 42 * (1 - (s + 5) * (s + 6) * r / 40))));
}

inline long double digamma_reference(long double x) {
  long double sum = 0;
  while (x < 200) sum -= 1 / x++;
  const long double r = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x - r * (1 / 12.0L - r * (1 / 120.0L - r * (1 / 252.0L - r / 240)));
}

inline long double polygamma_reference(int n, long double x) {
  if (n == 0) return digamma_reference(x);
  const long double size = std::tgamma(n + 1.0L) * zeta_reference(n + 1.0L, x);
  return n % 2 == 1 ? size : -size;
}

inline long double erfcx_reference(long double x) { return std::exp(x * x) * std::erfc(x); }

/// The y >= 0 at which the monotone `function` takes the value, by halving.
template <class Function>
long double solve(const Function& function, long double value) {
  const bool falls = function(0.0L) > function(1.0L);
  long double low = 0, high = 40;
  for (;;) {
    const long double middle = low + (high - low) / 2;
    if (middle == low || middle == high) return high;
    if ((function(middle) < value) != falls) {
      low = middle;
    } else {
      high = middle;
    }
  }
}

/// For 0 < x < 2.
inline long double erfcinv_reference(long double x) {
  if (x > 1) return -erfcinv_reference(2 - x);
  if (x < 0.5L) return solve([](long double y) { return std::erfc(y); }, x);
  return solve([](long double y) { return std::erf(y); }, 1 - x);
}

/// For -1 < x < 1.
inline long double erfinv_reference(long double x) {
  if (x < 0) return -erfinv_reference(-x);
  return x < 0.5L ? solve([](long double y) { return std::erf(y); }, x) : erfcinv_reference(1 - x);
}

inline long double ndtr_reference(long double x) { return std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2; }

/// For 0 < x < 1.
inline long double ndtri_reference(long double x) {
  return -std::numbers::sqrt2_v<long double> * erfcinv_reference(2 * x);
}

inline long double log_ndtr_reference(long double x) {
  return x > 0 ? std::log1p(-ndtr_reference(-x)) : std::log(ndtr_reference(x));
}

/// The derivative of log_ndtr_reference.
inline long double log_ndtr_grad_reference(long double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<long double>) / ndtr_reference(x);
}

}  // namespace kusari::testing
