#include "kusari/framework/functions/math/logarithm_1p.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("log1p") {
  check_unary(
      "log1p", [](const Variable& x) { return F::log1p(x); }, [](double x) { return std::log1p(x); }, -0.5, 3);
}

TEST_CASE("log1p keeps small arguments") { CHECK(F::log1p(array<float>({1e-20f})).item<float>() == 1e-20f); }

}  // namespace
}  // namespace kusari
