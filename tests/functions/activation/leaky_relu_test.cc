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

}  // namespace
}  // namespace kusari
