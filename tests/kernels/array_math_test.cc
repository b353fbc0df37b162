#include "kusari/framework/kernels/array_math.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/test_device.h"

namespace kusari {
namespace {

using testing::test_device;
using Values = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Dtype kFloatingTypes[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

Array numbers(const Values& values, Dtype dtype = Dtype::float64) { return array(values, test_device()).astype(dtype); }

double rounding_of(Dtype dtype) {
  if (dtype == Dtype::float64) return 1e-12;
  return dtype == Dtype::float32 ? 2e-6 : dtype == Dtype::float16 ? 2e-3 : 1e-2;
}

void expect_values(const Array& y, Dtype dtype, const Shape& shape, const Values& expected) {
  CHECK(y.dtype() == dtype);
  REQUIRE(y.shape() == shape);
  const Values found = y.to_vector<double>();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(found[i]));
    } else if (std::isinf(expected[i])) {
      CHECK(found[i] == expected[i]);
    } else {
      CHECK(found[i] == doctest::Approx(expected[i]).epsilon(rounding_of(dtype)));
    }
  }
}

}  // namespace

TEST_CASE("functions of one array by element") {
  struct Case {
    const char* name;
    Array (*function)(const Array&);
    double (*reference)(double);
  };
  const Case floating[] = {
      {"sqrt", xp::sqrt, [](double x) { return std::sqrt(x); }},
      {"rsqrt", xp::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {"cbrt", xp::cbrt, [](double x) { return std::cbrt(x); }},
      {"exp", xp::exp, [](double x) { return std::exp(x); }},
      {"expm1", xp::expm1, [](double x) { return std::expm1(x); }},
      {"log", xp::log, [](double x) { return std::log(x); }},
      {"log1p", xp::log1p, [](double x) { return std::log1p(x); }},
      {"log2", xp::log2, [](double x) { return std::log2(x); }},
      {"log10", xp::log10, [](double x) { return std::log10(x); }},
      {"sin", xp::sin, [](double x) { return std::sin(x); }},
      {"cos", xp::cos, [](double x) { return std::cos(x); }},
      {"tan", xp::tan, [](double x) { return std::tan(x); }},
      {"arctan", xp::arctan, [](double x) { return std::atan(x); }},
      {"arcsinh", xp::arcsinh, [](double x) { return std::asinh(x); }},
      {"sinh", xp::sinh, [](double x) { return std::sinh(x); }},
      {"cosh", xp::cosh, [](double x) { return std::cosh(x); }},
      {"tanh", xp::tanh, [](double x) { return std::tanh(x); }},
      {"erf", xp::erf, [](double x) { return std::erf(x); }},
  };
  const Case same[] = {
      {"abs", xp::abs, [](double x) { return std::abs(x); }},
      {"sign", xp::sign, [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"square", xp::square, [](double x) { return x * x; }},
      {"floor", xp::floor, [](double x) { return std::floor(x); }},
      {"ceil", xp::ceil, [](double x) { return std::ceil(x); }},
      {"rint", xp::rint, [](double x) { return std::rint(x); }},
  };
  const auto expected = [](const Case& c, const Array& x) {
    Values y = x.to_vector<double>();
    for (double& value : y) value = c.reference(value);
    return y;
  };
  for (const Dtype dtype : kFloatingTypes) {
    CAPTURE(name(dtype));
    const Array positive = numbers({0.25, 0.5, 1, 1.5, 2.25, 3}, dtype).reshape({2, 3});
    const Array mixed = numbers({-2.5, -1.5, -0.25, 0, 0.5, 1.75}, dtype).reshape({3, 2}).transpose();
    for (const Case& c : floating) {
      CAPTURE(c.name);
      expect_values(c.function(positive), dtype, {2, 3}, expected(c, positive));
    }
    for (const Case& c : same) {
      CAPTURE(c.name);
      expect_values(c.function(mixed), dtype, {2, 3}, expected(c, mixed));
    }
  }
  const Array integers = numbers({1, 2, 7}, Dtype::int32);
  for (const Case& c : floating) expect_values(c.function(integers), Dtype::float32, {3}, expected(c, integers));
  for (const Case& c : same) expect_values(c.function(integers), Dtype::int32, {3}, expected(c, integers));
  for (const Case& c : floating) CHECK_THROWS_WITH_AS(c.function(Array()), doctest::Contains(c.name), StateError);
}

TEST_CASE("functions that are defined between -1 and 1, or from 1 on") {
  for (const Dtype dtype : kFloatingTypes) {
    const Array x = numbers({-1, -0.5, 0, 0.75}, dtype), large = numbers({1, 1.5, 4}, dtype);
    expect_values(xp::arcsin(x), dtype, {4}, {std::asin(-1), std::asin(-0.5), 0, std::asin(0.75)});
    expect_values(xp::arccos(x), dtype, {4}, {std::acos(-1), std::acos(-0.5), std::acos(0), std::acos(0.75)});
    expect_values(xp::arctanh(x), dtype, {4}, {-kInfinity, std::atanh(-0.5), 0, std::atanh(0.75)});
    expect_values(xp::arccosh(large), dtype, {3}, {0, std::acosh(1.5), std::acosh(4)});
  }
}

TEST_CASE("what numbers are") {
  const Array x = numbers({1, kNaN, kInfinity, -kInfinity});
  CHECK(xp::isnan(x).to_vector<bool>() == std::vector<bool>{false, true, false, false});
  CHECK(xp::isinf(x).to_vector<bool>() == std::vector<bool>{false, false, true, true});
  CHECK(xp::isfinite(x).to_vector<bool>() == std::vector<bool>{true, false, false, false});
  CHECK(xp::isfinite(numbers({1, 2}, Dtype::int64)).all());
}

TEST_CASE("functions of two arrays, or of an array and a number") {
  const Array a = numbers({1, 5, -3}, Dtype::float32), b = numbers({2, 4, kNaN}, Dtype::float32);
  expect_values(xp::maximum(a, b), Dtype::float32, {3}, {2, 5, kNaN});
  expect_values(xp::minimum(a, b), Dtype::float32, {3}, {1, 4, kNaN});
  expect_values(xp::maximum(a, 0), Dtype::float32, {3}, {1, 5, 0});
  expect_values(xp::minimum(2, a), Dtype::float32, {3}, {1, 2, -3});
  expect_values(xp::pow(numbers({1, 2, 3}), numbers({2, 3, -1})), Dtype::float64, {3}, {1, 8, 1.0 / 3});
  expect_values(xp::pow(numbers({1, 4}, Dtype::float32), 0.5), Dtype::float32, {2}, {1, 2});
  expect_values(xp::pow(2, numbers({1, 4}, Dtype::int32)), Dtype::float32, {2}, {2, 16});
  const Array integers = numbers({1, 2, 300}, Dtype::int32);
  expect_values(xp::floor_divide(numbers({7, -7, 7, 5}), numbers({2, 2, -2, 0.5})), Dtype::float64, {4},
                {3, -4, -4, 10});
  expect_values(xp::remainder(numbers({7, -7, 7, 5}), numbers({2, 2, -2, 0.75})), Dtype::float64, {4}, {1, 1, -1, 0.5});
  // As NumPy's: the quotients are not whole before they are rounded.
  expect_values(xp::floor_divide(numbers({1, 6, -1, kInfinity, 1, -0.5}), numbers({0.1, 0.1, kInfinity, 1, 0, 3})),
                Dtype::float64, {6}, {9, 59, -1, kNaN, kInfinity, -1});
  expect_values(xp::floor_divide(numbers({7, -7}, Dtype::int32), 2), Dtype::int32, {2}, {3, -4});
  expect_values(xp::remainder(numbers({7, -7}, Dtype::int64), 3), Dtype::int64, {2}, {1, 2});
  expect_values(xp::remainder(7, numbers({4, 0}, Dtype::int32)), Dtype::int32, {2}, {3, 0});
  expect_values(xp::maximum(integers, 2), Dtype::int32, {3}, {2, 2, 300});
  expect_values(xp::maximum(integers, 1.5), Dtype::float32, {3}, {1.5, 2, 300});
  expect_values(xp::maximum(numbers({1, 2}).reshape({2, 1}), numbers({0, 3})), Dtype::float64, {2, 2}, {1, 3, 2, 3});
  CHECK_THROWS_AS(xp::maximum(numbers({1, 2, 3}), numbers({1, 2})), TypeError);
  CHECK_THROWS_WITH_AS(xp::maximum(numbers({1}, Dtype::uint8), 300), doctest::Contains("xp::maximum"), ValueError);

  expect_values(xp::clip(a, -1, 2), Dtype::float32, {3}, {1, 2, -1});
  expect_values(xp::clip(a, -kInfinity, 2), Dtype::float32, {3}, {1, 2, -3});
  expect_values(xp::clip(integers, 2, 100), Dtype::int32, {3}, {2, 2, 100});
  CHECK_THROWS_WITH_AS(xp::clip(a, 2, 1), "xp::clip: lower is 2 and upper is 1: lower must not be above upper",
                       ValueError);
  CHECK_THROWS_AS(xp::clip(a, kNaN, 1), ValueError);
  const Array bytes = numbers({1}, Dtype::uint8);
  CHECK_THROWS_WITH_AS(xp::clip(bytes, -1, 2), doctest::Contains("xp::clip"), ValueError);
  CHECK_THROWS_WITH_AS(xp::clip(bytes, 0, 300), doctest::Contains("xp::clip"), ValueError);
}

TEST_CASE("a choice by condition") {
  const Array a = numbers({1, 2, 3}, Dtype::float32), b = numbers({-1, kNaN, -3}, Dtype::float32);
  expect_values(xp::where(a > 1, a, b), Dtype::float32, {3}, {-1, 2, 3});
  expect_values(xp::where(a > 1, a, 0), Dtype::float32, {3}, {0, 2, 3});
  expect_values(xp::where(a > 1, 0.5, b), Dtype::float32, {3}, {-1, 0.5, 0.5});
  expect_values(xp::where((a > 1).reshape({3, 1}), a, b), Dtype::float32, {3, 3}, {-1, kNaN, -3, 1, 2, 3, 1, 2, 3});
  const Array large = numbers({1, 2, 3}, Dtype::int64) + (int64_t{1} << 60);
  CHECK(xp::where(a > 1, large, numbers({0, 0, 0}, Dtype::int64)).to_vector<int64_t>()[2] == (int64_t{1} << 60) + 3);
  CHECK_THROWS_WITH_AS(xp::where(a, a, b), "xp::where: condition has dtype float32: it must be bool", TypeError);
}

TEST_CASE("reductions of arrays") {
  for (const Dtype dtype : kFloatingTypes) {
    const Array x = numbers({1, 2, 3, 4, 5, 6}, dtype).reshape({2, 3});
    expect_values(xp::sum(x), dtype, {}, {21});
    expect_values(xp::sum(x, 0), dtype, {3}, {5, 7, 9});
    expect_values(xp::sum(x, -1, true), dtype, {2, 1}, {6, 15});
    expect_values(xp::mean(x, {0, 1}), dtype, {}, {3.5});
    expect_values(xp::prod(x, 1), dtype, {2}, {6, 120});
    expect_values(xp::max(x, 1), dtype, {2}, {3, 6});
    expect_values(xp::min(x, 0, true), dtype, {1, 3}, {1, 2, 3});
  }
  const Array bytes = numbers({200, 100}, Dtype::uint8);
  expect_values(xp::sum(bytes), Dtype::int64, {}, {300});
  expect_values(xp::mean(bytes), Dtype::float32, {}, {150});
  expect_values(xp::max(bytes), Dtype::uint8, {}, {200});
  expect_values(xp::sum(zeros({0, 2}, Dtype::float32, test_device()), 0), Dtype::float32, {2}, {0, 0});
  CHECK_THROWS_WITH_AS(xp::max(zeros({0, 2}, Dtype::float32, test_device()), 0),
                       "xp::max: x has shape (0, 2): there must be an element along the axes", ValueError);
  CHECK_THROWS_WITH_AS(xp::sum(bytes, 1), doctest::Contains("xp::sum"), IndexError);
}

}  // namespace kusari
