#include "kusari/framework/functions/math/lgamma.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("lgamma") {
  check_unary(
      "lgamma", [](const Variable& x) { return F::lgamma(x); },
      [](double x) { return static_cast<double>(std::lgamma(x)); }, 0.5, 4);
}

TEST_CASE("lgamma of a negative number is that of gamma's magnitude") {
  CHECK(F::lgamma(array<double>({-0.5})).item<double>() ==
        doctest::Approx(std::log(3.5449077018110321)).epsilon(1e-14));
  check_gradients([](const Variable& x) { return F::lgamma(x); }, uniform({5}, -1.8, -1.2));
}

}  // namespace
}  // namespace kusari
