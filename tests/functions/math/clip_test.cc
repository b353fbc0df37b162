#include "kusari/framework/functions/math/clip.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("clip") {
  check_unary(
      "clip", [](const Variable& x) { return F::clip(x, -0.5, 1.25); },
      [](double x) { return std::fmin(std::fmax(x, -0.5), 1.25); }, -2, 2);
}

TEST_CASE("clip has derivative 1 at both bounds") {
  const Variable x(array<float>({-1.5f, -1, 0, 1, 1.5f}));
  CHECK(gradient(F::clip(x, -1, 1), x) == std::vector<double>{0, 1, 1, 1, 0});
  CHECK_THROWS_WITH_AS(F::clip(x, 1, -1), "F::clip: x_min 1.000000 must be at most x_max -1.000000", ValueError);
}

}  // namespace
}  // namespace kusari
