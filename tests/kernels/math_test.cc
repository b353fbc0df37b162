#include "kusari/framework/kernels/math.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kusari/tests/kernels/ulps.h"

namespace km = kusari::km;
namespace testing = kusari::testing;

namespace {

using testing::kLog;
using testing::Spread;
using testing::ulps;
using testing::worst_ulps;

#define KUSARI_CHECK_ULPS(bound, formula, exact, ...) \
  CHECK(worst_ulps<T>([](T x) { return formula; }, [](long double x) { return exact; }, __VA_ARGS__) <= (bound))

template <class T>
void check_special(T got, T want) {
  if (std::isnan(want)) {
    CHECK(std::isnan(got));
  } else if (std::isinf(want) || want == T{0}) {
    CHECK(got == want);
    CHECK(std::signbit(got) == std::signbit(want));
  } else {
    CHECK(ulps(got, static_cast<long double>(want)) <= 4);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("math: errors in units of the last place", T, float, double) {
  const bool single = sizeof(T) == 4;
  const double smallest = single ? -148 : -1073, largest = single ? 127.9 : 1023.9;
  KUSARI_CHECK_ULPS(1.1, km::exp(x), std::exp(x), {single ? -103.0 : -745.0, single ? 88.7 : 709.7});
  KUSARI_CHECK_ULPS(1.1, km::exp(x), std::exp(x), {-1, 1});
  KUSARI_CHECK_ULPS(2.0, km::expm1(x), std::expm1(x), {-5, single ? 88.7 : 709.7});
  KUSARI_CHECK_ULPS(2.0, km::expm1(x), std::expm1(x), {smallest, 0, kLog});
  KUSARI_CHECK_ULPS(1.0, km::log(x), std::log(x), {smallest, largest, kLog});
  KUSARI_CHECK_ULPS(1.0, km::log(x), std::log(x), {0.5, 2});
  KUSARI_CHECK_ULPS(2.1, km::log2(x), std::log2(x), {smallest, largest, kLog});
  KUSARI_CHECK_ULPS(2.1, km::log2(x), std::log2(x), {0.5, 2});
  KUSARI_CHECK_ULPS(2.1, km::log10(x), std::log10(x), {smallest, largest, kLog});
  KUSARI_CHECK_ULPS(2.1, km::log10(x), std::log10(x), {0.5, 2});
  KUSARI_CHECK_ULPS(1.5, km::log1p(x), std::log1p(x), {-0.999, 2});
  KUSARI_CHECK_ULPS(1.5, km::log1p(x), std::log1p(x), {smallest, largest, kLog});
  KUSARI_CHECK_ULPS(2.6, km::tanh(x), std::tanh(x), {-22, 22});
  KUSARI_CHECK_ULPS(2.6, km::tanh(x), std::tanh(x), {smallest, 0, kLog});
  KUSARI_CHECK_ULPS(2.6, km::sigmoid(x), 1 / (1 + std::exp(-x)), {-80, 40});
  KUSARI_CHECK_ULPS(1.6, km::sin(x), std::sin(x), {-10, 10});
  KUSARI_CHECK_ULPS(1.6, km::cos(x), std::cos(x), {-10, 10});
  KUSARI_CHECK_ULPS(1.6, km::sin(x), std::sin(x), {-1.6e6, 1.6e6});
  KUSARI_CHECK_ULPS(1.6, km::cos(x), std::cos(x), {-1.6e6, 1.6e6});
  KUSARI_CHECK_ULPS(0.0, km::sqrt(x), std::sqrt(static_cast<T>(x)), {smallest, largest, kLog});
  for (const double y : {2.0, -3.0, 0.5, 1.7, -0.3, 37.25, 100.0}) {
    CAPTURE(y);
    const auto power = [y](T x) { return km::pow(x, static_cast<T>(y)); };
    const auto exact = [y](long double x) { return std::pow(x, static_cast<long double>(static_cast<T>(y))); };
    const double reach = (single ? 125.0 : 1020.0) / std::abs(y);
    CHECK(worst_ulps<T>(power, exact, {-std::min(reach, 100.0), std::min(reach, 100.0), kLog}) <= 1.6);
    CHECK(worst_ulps<T>(power, exact, {0.7, 1.4}) <= 1.6);
  }
}

TEST_CASE_TEMPLATE("math: trigonometric, hyperbolic and error functions", T, float, double) {
  using enum Spread;
  KUSARI_CHECK_ULPS(1.0, km::tan(x), std::tan(x), {-10, 10});
  KUSARI_CHECK_ULPS(1.0, km::tan(x), std::tan(x), {-1.6e6, 1.6e6});
  KUSARI_CHECK_ULPS(1.0, km::tan(x), std::tan(x), {-100, 0, kLog});
  KUSARI_CHECK_ULPS(3.0, km::asin(x), std::asin(x), {-1, 1});
  KUSARI_CHECK_ULPS(3.0, km::asin(x), std::asin(x), {-100, 0, kLog});
  KUSARI_CHECK_ULPS(3.0, km::acos(x), std::acos(x), {-1, 1});
  KUSARI_CHECK_ULPS(3.0, km::atan(x), std::atan(x), {-5, 5});
  KUSARI_CHECK_ULPS(3.0, km::atan(x), std::atan(x), {-100, 100, kLog});
  KUSARI_CHECK_ULPS(3.0, km::sinh(x), std::sinh(x), {-89, 89});
  KUSARI_CHECK_ULPS(3.0, km::sinh(x), std::sinh(x), {-100, 6, kLog});
  KUSARI_CHECK_ULPS(3.0, km::cosh(x), std::cosh(x), {-89, 89});
  KUSARI_CHECK_ULPS(3.0, km::asinh(x), std::asinh(x), {-5, 5});
  KUSARI_CHECK_ULPS(3.0, km::asinh(x), std::asinh(x), {-100, 120, kLog});
  KUSARI_CHECK_ULPS(3.0, km::acosh(x), std::acosh(x), {1, 5});
  KUSARI_CHECK_ULPS(3.0, km::acosh(x), std::acosh(x), {1, 120, kLog});
  KUSARI_CHECK_ULPS(3.0, km::atanh(x), std::atanh(x), {-1, 1});
  KUSARI_CHECK_ULPS(3.0, km::atanh(x), std::atanh(x), {-100, -1, kLog});
  KUSARI_CHECK_ULPS(2.0, km::erf(x), std::erf(x), {-5, 5});
  KUSARI_CHECK_ULPS(2.0, km::erf(x), std::erf(x), {-100, 1, kLog});
  KUSARI_CHECK_ULPS(3.0, km::erfc(x), std::erfc(x), {-5, 10});
  for (const double y : {1e-3, -0.7, 1.0, -2.5, 1e3}) {
    CAPTURE(y);
    const auto angle = [y](T x) { return km::atan2(static_cast<T>(y), x); };
    const auto exact = [y](long double x) { return std::atan2(static_cast<long double>(static_cast<T>(y)), x); };
    CHECK(worst_ulps<T>(angle, exact, {-4, 4}) <= 3.0);
    CHECK(worst_ulps<T>(angle, exact, {-60, 60, kLog}) <= 3.0);
  }
}

TEST_CASE_TEMPLATE("math: special arguments give what the C library gives", T, float, double) {
  using Limits = std::numeric_limits<T>;
  const T values[] = {T(0),
                      T(-0.0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      T(1),
                      T(-1),
                      T(0.5),
                      T(-0.5),
                      T(1.5),
                      T(2.5),
                      T(-2.5),
                      T(3),
                      T(-3),
                      T(1e9),
                      T(-1e9),
                      Limits::max(),
                      Limits::lowest(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::min(),
                      T(88.8),
                      T(710),
                      T(-104.5),
                      T(-746)};
  for (const T x : values) {
    CAPTURE(x);
    check_special(km::exp(x), std::exp(x));
    check_special(km::expm1(x), std::expm1(x));
    check_special(km::log(x), std::log(x));
    check_special(km::log2(x), std::log2(x));
    check_special(km::log10(x), std::log10(x));
    check_special(km::log1p(x), std::log1p(x));
    check_special(km::tanh(x), std::tanh(x));
    check_special(km::sqrt(x), std::sqrt(x));
    check_special(km::abs(x), std::abs(x));
    check_special(km::floor(x), std::floor(x));
    check_special(km::ceil(x), std::ceil(x));
    check_special(km::trunc(x), std::trunc(x));
    check_special(km::rint(x), std::nearbyint(x));
    if (!km::is_large_angle(x)) {
      check_special(km::sin(x), std::sin(x));
      check_special(km::cos(x), std::cos(x));
      check_special(km::tan(x), std::tan(x));
    }
    check_special(km::asin(x), std::asin(x));
    check_special(km::acos(x), std::acos(x));
    check_special(km::atan(x), std::atan(x));
    check_special(km::sinh(x), std::sinh(x));
    check_special(km::cosh(x), std::cosh(x));
    check_special(km::asinh(x), std::asinh(x));
    check_special(km::acosh(x), std::acosh(x));
    check_special(km::atanh(x), std::atanh(x));
    check_special(km::erf(x), std::erf(x));
    check_special(km::erfc(x), std::erfc(x));
    check_special(km::lgamma(x), std::lgamma(x));
    CHECK(km::isnan(x) == std::isnan(x));
    CHECK(km::isinf(x) == std::isinf(x));
    CHECK(km::isfinite(x) == std::isfinite(x));
    for (const T y : values) {
      CAPTURE(y);
      check_special(km::pow(x, y), std::pow(x, y));
      check_special(km::atan2(x, y), std::atan2(x, y));
    }
  }
  CHECK(km::log2(T(8)) == T(3));  // powers of two exactly
  CHECK(km::log2(T(0.125)) == T(-3));
}

TEST_CASE("math: maximum, minimum and sign treat NaN as NumPy does") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(km::max(1.0, 2.0) == 2.0);
  CHECK(km::min(1.0, 2.0) == 1.0);
  CHECK(std::isnan(km::max(nan, 1.0)));
  CHECK(std::isnan(km::max(1.0, nan)));
  CHECK(std::isnan(km::min(nan, 1.0)));
  CHECK(std::isnan(km::min(1.0, nan)));
  CHECK(std::isnan(km::sign(nan)));
  CHECK(km::sign(-2.5) == -1.0);
  CHECK(km::sign(0.0) == 0.0);
  CHECK(km::max(int64_t{-3}, int64_t{4}) == 4);
  CHECK(km::sign(int64_t{-3}) == -1);
}

TEST_CASE("math: integer powers") {
  const auto power = [](int64_t x, int64_t y) { return km::pow(x, y); };
  CHECK(power(3, 0) == 1);
  CHECK(power(0, 0) == 1);
  CHECK(power(-3, 3) == -27);
  CHECK(power(2, 62) == int64_t{1} << 62);
  CHECK(power(2, 64) == 0);  // wraps
  CHECK(power(5, -1) == 0);
  CHECK(power(-1, -3) == -1);
  CHECK(power(1, -3) == 1);
}

TEST_CASE("math: lgamma in float32") {
  const auto worst = [](testing::Range range) {
    return worst_ulps<float>([](float x) { return km::lgamma(x); }, [](long double x) { return std::lgamma(x); },
                             range);
  };
  // Roundings of float64 values.
  for (const testing::Range range : {testing::Range{-149, 121, kLog},
                                     {0.5, 4.5},
                                     {0.99, 1.01},
                                     {1.99, 2.01},
                                     {4, 200},
                                     {-1, 0},
                                     {-4, -1},
                                     {-50, -4},
                                     {-8e6, -50}}) {
    CAPTURE(range.low);
    CHECK(worst(range) <= 0.51);
  }
  // Around the roots and where formulas meet, every number.
  for (const float middle : {1.0f, 2.0f, 3.0f, 4.0f, -2.4570248f, -2.7476826f, -3.143581f, -3.9552944f, -4.0393615f,
                             -4.9915447f, -5.0082182f, -7.0f, -12.0f}) {
    CAPTURE(middle);
    double worst_here = 0;
    float below = middle, above = middle;
    for (int i = 0; i < 1000; ++i) {
      for (const float x : {below, above}) {
        worst_here = std::max(worst_here, ulps(km::lgamma(x), std::lgamma(static_cast<long double>(x))));
      }
      below = std::nextafter(below, -100.0f);
      above = std::nextafter(above, 100.0f);
    }
    CHECK(worst_here <= 0.51);
  }
}

TEST_CASE("math: known values of lgamma in float32") {
  struct Case {
    float x;
    long double y;
  };
  // mpmath with 50 digits
  for (const Case& c : {Case{0x1.000002p+0f, -6.8809457642534712e-8L},
                        {0x1.fffffep-1f, 3.4404737587236741e-8L},
                        {0x1.000002p+1f, 1.0079965877070313e-7L},
                        {0x1.fffffep+0f, -5.0399815637755421e-8L},
                        {0x1.99999ap-4f, 2.2527126362016008L},
                        {2.5f, 0.28468287047291916L},
                        {0x1.fffff8p+1f, 1.7917582713010253L},
                        {4.0f, 1.791759469228055L},
                        {171.0f, 706.57306224578735L},
                        {0x1.93e594p+99f, 6.8077553829263513e+31L},
                        {0x1p-149f, 103.27892990343185L},
                        {-0x1p-149f, 103.27892990343185L},
                        {-0.5f, 1.2655121234846454L},
                        {-0x1.000002p+0f, 15.942385102478941L},
                        {-0x1.3a7fcap+1f, -1.1287842529645816e-7L},
                        {-0x1.5fb41p+1f, -1.4418167987778364e-7L},
                        {-0x1.9260dcp+1f, -1.9605461541614247e-7L},
                        {-0x1.fa4716p+1f, 1.7780596858250851e-6L},
                        {-0x1.0284e6p+2f, 9.7207635585722966e-6L},
                        {-0x1.3ffffep+3f, -1.2414667190691136L},
                        {-20.5f, -42.70719597482576L},
                        {-100.25f, -363.40092322782154L},
                        {-0x1.e847fep+19f, -12815514.742166207L}}) {
    CAPTURE(c.x);
    CHECK(ulps(km::lgamma(c.x), c.y) <= 0.51);
  }
  CHECK(km::lgamma(1.0f) == 0.0f);
  CHECK(km::lgamma(2.0f) == 0.0f);
}
