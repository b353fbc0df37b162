#include "kusari/framework/functions/activation/clipped_relu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("clipped_relu") {
  check_unary(
      "clipped_relu", [](const Variable& x) { return F::clipped_relu(x, 1.5); },
      [](double x) { return std::fmin(std::fmax(x, 0), 1.5); }, -2, 3);
}

TEST_CASE("relu6") {
  check_unary(
      "relu6", [](const Variable& x) { return F::relu6(x); }, [](double x) { return std::fmin(std::fmax(x, 0), 6); },
      -3, 9);
}

TEST_CASE("clipped_relu has derivative 0 at both edges") {
  const Variable x(array<float>({0, 0.5f, 1, 1.5f}));
  CHECK(gradient(F::clipped_relu(x, 1), x) == std::vector<double>{0, 1, 0, 0});
}

}  // namespace
}  // namespace kusari
