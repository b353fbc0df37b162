#include "kusari/framework/functions/math/exponential_m1.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("expm1") {
  check_unary(
      "expm1", [](const Variable& x) { return F::expm1(x); }, [](double x) { return std::expm1(x); }, -2, 2);
}

TEST_CASE("expm1 keeps small arguments") { CHECK(F::expm1(array<float>({1e-20f})).item<float>() == 1e-20f); }

}  // namespace
}  // namespace kusari
