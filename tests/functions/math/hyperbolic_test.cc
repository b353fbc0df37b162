#include "kusari/framework/functions/math/hyperbolic.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sinh") {
  check_unary(
      "sinh", [](const Variable& x) { return F::sinh(x); }, [](double x) { return std::sinh(x); }, -2, 2);
}

TEST_CASE("cosh") {
  check_unary(
      "cosh", [](const Variable& x) { return F::cosh(x); }, [](double x) { return std::cosh(x); }, -2, 2);
}

TEST_CASE("arcsinh") {
  check_unary(
      "arcsinh", [](const Variable& x) { return F::arcsinh(x); }, [](double x) { return std::asinh(x); }, -3, 3);
}

TEST_CASE("arccosh") {
  check_unary(
      "arccosh", [](const Variable& x) { return F::arccosh(x); }, [](double x) { return std::acosh(x); }, 1.2, 4);
  CHECK(std::isnan(F::arccosh(array<float>({0.5f})).item<float>()));
}

TEST_CASE("arctanh") {
  check_unary(
      "arctanh", [](const Variable& x) { return F::arctanh(x); }, [](double x) { return std::atanh(x); }, -0.8, 0.8);
}

TEST_CASE("arcsinh: the derivative where squares are beyond the range of the dtype") {
  const auto check = [](Dtype dtype, double at, double expected, double tolerance) {
    const Variable x(full({1}, at, dtype, test_device()));
    CHECK(gradient(F::arcsinh(x), x)[0] == doctest::Approx(expected).epsilon(tolerance).scale(0));
  };
  check(Dtype::float16, -300, 1 / std::sqrt(90001), 1e-2);
  check(Dtype::float16, 60000, 1 / 6e4, 1e-2);
  check(Dtype::float32, 1e20, 1e-20, 1e-6);
  const Variable ends(array<float>({0, INFINITY}, test_device()));
  CHECK(gradient(F::arcsinh(ends), ends) == std::vector<double>{1, 0});
}

}  // namespace
}  // namespace kusari
