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

}  // namespace
}  // namespace kusari
