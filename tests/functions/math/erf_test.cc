#include "kusari/framework/functions/math/erf.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("erf") {
  check_unary(
      "erf", [](const Variable& x) { return F::erf(x); }, [](double x) { return std::erf(x); }, -2, 2);
}

TEST_CASE("erfc") {
  check_unary(
      "erfc", [](const Variable& x) { return F::erfc(x); }, [](double x) { return std::erfc(x); }, -2, 2);
}

TEST_CASE("erfc keeps small values") {
  CHECK(F::erfc(array<double>({10})).item<double>() == doctest::Approx(2.088487583762545e-45).epsilon(1e-12).scale(0));
}

}  // namespace
}  // namespace kusari
