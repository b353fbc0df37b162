#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

// Errors of formulas in units of the last digit.
namespace kusari::testing {

/// The distance between a result and the true value in units of the last digit of the true value.
template <class T>
double ulps(T got, long double want) {
  const T nearest = static_cast<T>(want);
  if (got == nearest || (std::isnan(got) && std::isnan(nearest))) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return HUGE_VAL;
  const T a = std::abs(nearest), next = std::nextafter(a, std::numeric_limits<T>::infinity());
  const T unit = std::isfinite(next) ? next - a : a - std::nextafter(a, T{0});
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / static_cast<long double>(unit));
}

/// How the arguments between two bounds are spread.
enum class Spread { even, powers_of_two };
inline constexpr Spread kLog = Spread::powers_of_two;

struct Range {
  double low;
  double high;
  Spread spread = Spread::even;
};

/// The worst error of `f` against `exact` (long double, 64 digits of mantissa) over random arguments.
template <class T, class F, class G>
double worst_ulps(const F& f, const G& exact, Range range, int arguments = 40000) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> uniform(range.low, range.high);
  double worst = 0;
  for (int i = 0; i < arguments; ++i) {
    const double drawn = uniform(generator);
    const T x = static_cast<T>(range.spread == Spread::even ? drawn : std::exp2(drawn));
    worst = std::max(worst, ulps(f(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

}  // namespace kusari::testing
