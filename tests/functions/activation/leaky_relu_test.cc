#include "kusari/framework/functions/activation/leaky_relu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("leaky_relu") {
  check_unary(
      "leaky_relu", [](const Variable& x) { return F::leaky_relu(x); }, [](double x) { return x >= 0 ? x : 0.2 * x; },
      -2, 2);
}

TEST_CASE("leaky_relu with a negative slope") {
  check_unary(
      "leaky_relu", [](const Variable& x) { return F::leaky_relu(x, -0.5); },
      [](double x) { return x >= 0 ? x : -0.5 * x; }, -2, 2);
}

TEST_CASE("leaky_relu's derivative at 0 is the slope, as Chainer's") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable x(array<double>({-1, -0.0, 0, 1}, test_device()).astype(dtype));
    for (const double slope : {0.25, 0.0, -0.5, 2.0}) {
      CAPTURE(slope);
      CHECK(gradient(F::leaky_relu(x, slope), x) == std::vector<double>{slope, slope, slope, 1});
      // The gradient's gradient: by gy it is the same factor, by x nothing.
      const Variable gy(ones({4}, dtype, test_device()));
      const Variable gx = grad({F::leaky_relu(x, slope)}, {x},
                               {.grad_outputs = std::span<const Variable>(&gy, 1), .enable_double_backprop = true})[0];
      CHECK(gradient(gx, gy) == std::vector<double>{slope, slope, slope, 1});
    }
  }
}

}  // namespace
}  // namespace kusari
