#include "kusari/framework/functions/activation/hard_sigmoid.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("hard_sigmoid") {
  check_unary(
      "hard_sigmoid", [](const Variable& x) { return F::hard_sigmoid(x); },
      [](double x) { return std::fmin(std::fmax(0.2 * x + 0.5, 0), 1); }, -4, 4);
}

TEST_CASE("hard_sigmoid has derivative 0 at both edges") {
  const Variable x(array<float>({-2.5f, 0, 2.5f}));
  check_close(array<double>(gradient(F::hard_sigmoid(x), x)), {3}, {0, 0.2f, 0});
}

}  // namespace
}  // namespace kusari
