#include "kusari/framework/functions/math/sqrt.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sqrt") {
  check_unary(
      "sqrt", [](const Variable& x) { return F::sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.5, 3);
}

TEST_CASE("rsqrt") {
  check_unary(
      "rsqrt", [](const Variable& x) { return F::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0.5, 3);
}

TEST_CASE("rsqrt: the derivative where its size without gy is below the range of the dtype") {
  const Variable x(full({1}, 60000, Dtype::float16, test_device()));
  const Array gy = full({1}, 1000, Dtype::float16, test_device());
  CHECK(gradient(F::rsqrt(x), x, gy)[0] == doctest::Approx(-500 * std::pow(60000, -1.5)).epsilon(1e-2).scale(0));
}

}  // namespace
}  // namespace kusari
