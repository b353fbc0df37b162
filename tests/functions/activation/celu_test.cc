#include "kusari/framework/functions/activation/celu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("celu") {
  for (const double alpha : {1.0, 0.3, 2.5, -0.7}) {
    CAPTURE(alpha);
    check_unary(
        "celu", [&](const Variable& x) { return F::celu(x, alpha); },
        [&](double x) { return std::fmax(x, 0) + std::fmin(0, alpha * std::expm1(x / alpha)); }, -1.5, 1.5);
  }
}

TEST_CASE("celu: its slope is continuous at 0") {
  const Variable x(array<double>({-1e-12, 0, 1e-12}));
  check_close(array<double>(gradient(F::celu(x, 0.2), x)), {3}, {1, 1, 1}, 1e3);
}

TEST_CASE("celu refuses an alpha that is no number to divide by") {
  const Array x = ones({2});
  CHECK_THROWS_WITH_AS(F::celu(x, 0), "F::celu: alpha is 0: it must not be 0", ValueError);
  CHECK_THROWS_WITH_AS(F::celu(x, NAN), "F::celu: alpha is nan: it must be a number", ValueError);
}

}  // namespace
}  // namespace kusari
