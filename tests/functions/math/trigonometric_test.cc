#include "kusari/framework/functions/math/trigonometric.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sin") {
  check_unary(
      "sin", [](const Variable& x) { return F::sin(x); }, [](double x) { return std::sin(x); }, -3, 3);
}

TEST_CASE("cos") {
  check_unary(
      "cos", [](const Variable& x) { return F::cos(x); }, [](double x) { return std::cos(x); }, -3, 3);
}

TEST_CASE("tan") {
  check_unary(
      "tan", [](const Variable& x) { return F::tan(x); }, [](double x) { return std::tan(x); }, -1, 1);
}

TEST_CASE("arcsin") {
  check_unary(
      "arcsin", [](const Variable& x) { return F::arcsin(x); }, [](double x) { return std::asin(x); }, -0.9, 0.9);
}

TEST_CASE("arccos") {
  check_unary(
      "arccos", [](const Variable& x) { return F::arccos(x); }, [](double x) { return std::acos(x); }, -0.9, 0.9);
}

TEST_CASE("arctan") {
  check_unary(
      "arctan", [](const Variable& x) { return F::arctan(x); }, [](double x) { return std::atan(x); }, -3, 3);
}

TEST_CASE("arctan2") {
  const Array x1 = uniform({3, 4}, -2, 2, 1), x2 = uniform({3, 4}, -2, 2, 2);
  const auto arctan2 = [](const Variable& a, const Variable& b) { return F::arctan2(a, b); };
  check_forward(
      arctan2, [](double a, double b) { return std::atan2(a, b); }, x1, x2);
  check_gradients(arctan2, x1, x2);
  check_gradients(arctan2, x1, uniform({4}, -2, 2, 3));
  // Whose squares float32 does not hold.
  const Variable small(array<float>({1e-30f, -1e-30f, 1e-30f, 3e30f}, test_device())),
      other(array<float>({0, 0, 1e-30f, 4e30f}, test_device()));
  const Variables g = grad({F::arctan2(small, other)}, {small, other});
  const std::vector<double> by_small = g[0].to_vector<double>(), by_other = g[1].to_vector<double>();
  CHECK(by_small[0] == 0);
  CHECK(by_small[1] == 0);
  CHECK(by_small[2] == doctest::Approx(5e29).epsilon(1e-5));
  CHECK(by_small[3] == doctest::Approx(4e30 / 25e60).epsilon(1e-5));
  CHECK(by_other[2] == doctest::Approx(-5e29).epsilon(1e-5));
  CHECK_THROWS_WITH_AS(F::arctan2(x1, x2.astype(Dtype::float32)),
                       "F::arctan2: x1 has dtype float64 but x2 has dtype float32: x1.dtype must equal x2.dtype "
                       "(float64 != float32)",
                       TypeError);
}

TEST_CASE("arctan: the derivative where squares are beyond the range of the dtype") {
  const auto check = [](double at, double gy, double expected) {
    const Variable x(full({1}, at, Dtype::float16, test_device()));
    const Array seed = full({1}, gy, Dtype::float16, test_device());
    CHECK(gradient(F::arctan(x), x, seed)[0] == doctest::Approx(expected).epsilon(1e-2).scale(0));
  };
  check(300, 1, 1.0 / 90001);
  check(-300, 1000, 1000.0 / 90001);
  const Variable ends(array<float>({0, INFINITY}, test_device()));
  CHECK(gradient(F::arctan(ends), ends) == std::vector<double>{1, 0});
}

}  // namespace
}  // namespace kusari
