#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kusari/framework/kernels/math_gamma.h"
#include "kusari/framework/kernels/math_normal.h"
#include "kusari/tests/kernels/ulps.h"
#include "kusari/tests/special_reference.h"

namespace km = kusari::km;

namespace {

using namespace kusari::testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Errors in float32 and float64; float32 results are roundings of float64 ones.
#define KUSARI_CHECK_BOTH_ULPS(bound, formula, exact, ...)                                                            \
  CHECK(worst_ulps<double>([](double x) { return formula; }, [](long double x) { return exact; }, __VA_ARGS__,        \
                           3000) <= (bound));                                                                         \
  CHECK(worst_ulps<float>([](float x) { return formula; }, [](long double x) { return exact; }, __VA_ARGS__, 3000) <= \
        0.51)

}  // namespace

TEST_CASE("special functions: errors in units of the last place") {
  KUSARI_CHECK_BOTH_ULPS(4, km::digamma(x), digamma_reference(x), {0.01, 1.4});
  KUSARI_CHECK_BOTH_ULPS(4, km::digamma(x), digamma_reference(x), {1.5, 30});
  KUSARI_CHECK_BOTH_ULPS(2, km::digamma(x), digamma_reference(x), {-100, 0, kLog});
  KUSARI_CHECK_BOTH_ULPS(5, km::erfcx(x), erfcx_reference(x), {-9, 80});
  KUSARI_CHECK_BOTH_ULPS(5, km::erfcx(x), erfcx_reference(x), {-1, 5});
  KUSARI_CHECK_BOTH_ULPS(6, km::erfinv(x), erfinv_reference(x), {-0.9999, 0.9999});
  KUSARI_CHECK_BOTH_ULPS(6, km::erfinv(x), erfinv_reference(x), {-100, -1, kLog});
  KUSARI_CHECK_BOTH_ULPS(6, km::erfcinv(x), erfcinv_reference(x), {0.001, 1.999});
  KUSARI_CHECK_BOTH_ULPS(6, km::erfcinv(x), erfcinv_reference(x), {-120, -1, kLog});
  KUSARI_CHECK_BOTH_ULPS(6, km::ndtr(x), ndtr_reference(x), {-12, 6});
  KUSARI_CHECK_BOTH_ULPS(6, km::ndtri(x), ndtri_reference(x), {0.001, 0.999});
  KUSARI_CHECK_BOTH_ULPS(6, km::ndtri(x), ndtri_reference(x), {-120, -1, kLog});
  KUSARI_CHECK_BOTH_ULPS(6, km::log_ndtr(x), log_ndtr_reference(x), {-100, 12});
  KUSARI_CHECK_BOTH_ULPS(8, km::log_ndtr_grad(x), log_ndtr_grad_reference(x), {-100, 12});
}

TEST_CASE("special functions: zeta and polygamma") {
  std::mt19937_64 generator(1);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator);
  };
  double worst_zeta = 0, worst_polygamma = 0, worst_single = 0;
  for (int i = 0; i < 3000; ++i) {
    const double s = draw(1.1, 60), q = std::exp2(draw(-3, 14));
    worst_zeta = std::max(worst_zeta, ulps(km::zeta(s, q), zeta_reference(s, q)));
    const int n = i % 7;
    const double x = draw(n == 0 ? 2 : 0.05, 40);
    worst_polygamma = std::max(worst_polygamma, ulps(km::polygamma(double(n), x), polygamma_reference(n, x)));
    const float narrow = static_cast<float>(x);
    worst_single = std::max(worst_single, ulps(km::polygamma(float(n), narrow), polygamma_reference(n, narrow)));
  }
  CHECK(worst_zeta <= 12);
  CHECK(worst_polygamma <= 6);
  CHECK(worst_single <= 0.51);
}

TEST_CASE("special functions: known values") {
  const double pi = std::numbers::pi, euler = 0.57721566490153286061;
  CHECK(ulps(km::digamma(1.0), -0.57721566490153286061L) <= 1);
  CHECK(km::digamma(0.5) == doctest::Approx(-euler - 2 * std::log(2.0)).epsilon(1e-15));
  // Near the root; mpmath with 40 digits.
  CHECK(km::digamma(1.4616321449683623) == doctest::Approx(-9.2412655217294275e-17).epsilon(1e-12).scale(0));
  CHECK(km::zeta(2.0, 1.0) == doctest::Approx(pi * pi / 6).epsilon(1e-15));
  CHECK(km::zeta(4.0, 1.0) == doctest::Approx(std::pow(pi, 4) / 90).epsilon(1e-15));
  CHECK(km::polygamma(1.0, 0.5) == doctest::Approx(pi * pi / 2).epsilon(1e-15));
  CHECK(km::ndtri(0.975) == doctest::Approx(1.959963984540054235524594430520551527).epsilon(1e-15));
  CHECK(km::erfinv(0.5) == doctest::Approx(0.4769362762044698733814).epsilon(1e-15));
  // Abramowitz and Stegun 1964, table 26.2: -log10 of the upper tail at 10 and 30
  CHECK(-km::log_ndtr(-10.0) / std::log(10.0) == doctest::Approx(23.11805).epsilon(1e-6));
  CHECK(-km::log_ndtr(-30.0) / std::log(10.0) == doctest::Approx(197.30921).epsilon(1e-7));
}

TEST_CASE("special functions: negative arguments by reflection") {
  for (const double x : {-0.25, -0.5, -1.75, -7.3, -30.6, -1e4 - 0.3}) {
    CAPTURE(x);
    // psi(1 - x) - psi(x) = pi cot(pi x)
    const double cotangent = std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
    CHECK(km::digamma(x) == doctest::Approx(km::digamma(1 - x) - cotangent).epsilon(1e-11));
    for (int n = 1; n <= 4; ++n) {
      CAPTURE(n);
      long double sum = 0, q = x;
      for (int k = 0; k <= 2 - std::floor(x); ++k) sum += std::pow(q++, -(n + 1));
      const long double sign = n % 2 == 1 ? 1 : -1;
      const long double want = sign * std::tgamma(n + 1.0L) * (sum + zeta_reference(n + 1.0L, q));
      CHECK(km::polygamma(double(n), x) == doctest::Approx(static_cast<double>(want)).epsilon(1e-12));
    }
  }
}

TEST_CASE("special functions: polygamma where its factors are beyond the range of float64") {
  for (const auto& [n, x] :
       {std::pair{171, 2.0}, {171, 100.0}, {170, 100.0}, {300, 250.0}, {100, 1e4}, {20, 1e16}, {1, 1e200}}) {
    CAPTURE(n);
    CAPTURE(x);
    CHECK(km::polygamma(double(n), x) ==
          doctest::Approx(static_cast<double>(polygamma_reference(n, x))).epsilon(1e-12).scale(0));
  }
}

TEST_CASE("special functions: polygamma near negative half-integers, where the largest terms cancel") {
  for (const auto& [n, x] :
       {std::pair{50, -0.5}, {50, -0.5 + 0x1p-20}, {50, -0.25}, {50, -3.5}, {4, -2.5}, {170, -0.5}}) {
    CAPTURE(n);
    CAPTURE(x);
    const long double s = n + 1.0L, middle = std::floor(-x);
    long double sum = zeta_reference(s, x + 2 * middle + 2);
    for (long double k = 0; k <= middle; ++k) sum += std::pow(x + k, -s) + std::pow(x + 2 * middle + 1 - k, -s);
    const long double expected = (n % 2 == 1 ? 1 : -1) * std::tgamma(s) * sum;
    CHECK(km::polygamma(double(n), x) == doctest::Approx(static_cast<double>(expected)).epsilon(1e-9).scale(0));
  }
}

TEST_CASE_TEMPLATE("special functions: ends of domains", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const auto is_nan = [](T x) { return std::isnan(x); };
  CHECK(km::digamma(T(0)) == -infinity);
  CHECK(km::digamma(T(-0.0)) == infinity);
  CHECK(km::digamma(infinity) == infinity);
  CHECK(is_nan(km::digamma(T(-3))));
  CHECK(is_nan(km::digamma(-infinity)));
  CHECK(is_nan(km::digamma(nan)));
  CHECK(km::zeta(T(1), T(2)) == infinity);
  CHECK(km::zeta(T(2), T(0)) == infinity);
  CHECK(km::zeta(T(3), T(-2)) == infinity);
  CHECK(km::zeta(T(2), infinity) == 0);
  CHECK(is_nan(km::zeta(T(0.5), T(1))));
  CHECK(is_nan(km::zeta(T(2.5), T(-0.5))));
  CHECK(is_nan(km::zeta(nan, T(1))));
  CHECK(is_nan(km::zeta(T(2), nan)));
  CHECK(is_nan(km::polygamma(T(-1), T(1))));
  CHECK(is_nan(km::polygamma(T(1.5), T(1))));
  CHECK(is_nan(km::polygamma(T(1), nan)));
  CHECK(km::polygamma(T(0), T(1)) == km::digamma(T(1)));
  CHECK(km::polygamma(T(2), T(0)) == -infinity);
  for (const T n : {T(1e17), T(1e38), std::numeric_limits<T>::max()}) {  // these end at all
    for (const T x : {T(1), n / 2, n / 1000, std::numeric_limits<T>::max()}) km::polygamma(n, x);
  }
  CHECK(km::erfcx(infinity) == 0);
  CHECK(km::erfcx(-infinity) == infinity);
  CHECK(km::erfcx(T(0)) == 1);
  CHECK(is_nan(km::erfcx(nan)));
  CHECK(km::erfinv(T(1)) == infinity);
  CHECK(km::erfinv(T(-1)) == -infinity);
  CHECK(km::erfinv(T(0)) == 0);
  CHECK(std::signbit(km::erfinv(T(-0.0))));
  CHECK(is_nan(km::erfinv(T(1.5))));
  CHECK(is_nan(km::erfinv(nan)));
  CHECK(km::erfcinv(T(0)) == infinity);
  CHECK(km::erfcinv(T(2)) == -infinity);
  CHECK(km::erfcinv(T(1)) == 0);
  CHECK(is_nan(km::erfcinv(T(-0.5))));
  CHECK(km::ndtri(T(0)) == -infinity);
  CHECK(km::ndtri(T(1)) == infinity);
  CHECK(km::ndtri(T(0.5)) == 0);
  CHECK(is_nan(km::ndtri(T(2))));
  CHECK(km::ndtr(-infinity) == 0);
  CHECK(km::ndtr(infinity) == 1);
  CHECK(km::ndtr(T(0)) == T(0.5));
  CHECK(is_nan(km::ndtr(nan)));
  CHECK(km::log_ndtr(infinity) == 0);
  CHECK(km::log_ndtr(-infinity) == -infinity);
  CHECK(is_nan(km::log_ndtr(nan)));
  CHECK(km::log_ndtr_grad(infinity) == 0);
  CHECK(is_nan(km::log_ndtr_grad(nan)));
}

TEST_CASE("special functions: tails") {
  CHECK(ulps(km::ndtr(-37.0), 5.72557122252457e-300L) <= 16);  // 15 digits
  CHECK(km::ndtr(-41.0) == 0);
  CHECK(km::erfcx(-26.0) == doctest::Approx(2 * std::exp(676.0)).epsilon(1e-13));
  CHECK(km::erfcx(-27.5) == kInfinity);
  CHECK(km::erfcx(1e10) == doctest::Approx(std::numbers::inv_sqrtpi * 1e-10).epsilon(1e-15).scale(0));
  CHECK(km::log_ndtr(-1e10) == doctest::Approx(-5e19).epsilon(1e-15));
  CHECK(km::log_ndtr_grad(-1e6) == doctest::Approx(1e6).epsilon(1e-11));
  CHECK(km::log_ndtr_grad(50.0) == 0);
}
