#include "kusari/framework/functions/activation/shrink.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("shrink") {
  for (const F::ShrinkOptions& options :
       {F::ShrinkOptions{}, {.lambd = 1, .bias = 1}, {.lambd = 0.75, .bias = -0.25}}) {
    check_unary(
        "shrink", [&](const Variable& x) { return F::shrink(x, options); },
        [&](double x) { return x < -options.lambd ? x + options.bias : (x > options.lambd ? x - options.bias : 0); },
        -3.01, 3.02);
  }
}

TEST_CASE("shrink at its edges") {
  const Variable x(array<float>({-2, -1, 0, 1, 2, NAN}));
  const Variable y = F::shrink(x, {.lambd = 1, .bias = 0.5});
  check_close(y, {6}, {-1.5, 0, 0, 0, 1.5, NAN});
  check_close(array<double>(gradient(y, x)), {6}, {1, 0, 0, 0, 1, 0});
  CHECK_THROWS_WITH_AS(F::shrink(x, {.lambd = NAN}), "F::shrink: lambd is nan: it must be a number", ValueError);
  CHECK_THROWS_WITH_AS(F::shrink(x, {.bias = NAN}), "F::shrink: bias is nan: it must be a number", ValueError);
}

}  // namespace
}  // namespace kusari
