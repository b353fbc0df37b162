#include "kusari/framework/functions/activation/sigmoid.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sigmoid") {
  check_unary(
      "sigmoid", [](const Variable& x) { return F::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -4,
      4);
}

TEST_CASE("sigmoid of large arguments") {
  check_close(F::sigmoid(array<float>({-1000.f, 0.f, 1000.f})), {3}, {0, 0.5, 1});
}

}  // namespace
}  // namespace kusari
