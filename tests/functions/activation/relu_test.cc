#include "kusari/framework/functions/activation/relu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("relu") {
  check_unary(
      "relu", [](const Variable& x) { return F::relu(x); }, [](double x) { return x > 0 ? x : 0.0; }, -2, 2);
}

TEST_CASE("relu at 0 and NaN") {
  const Variable x(array<float>({-0.f, 0.f, 3.f, NAN}));
  const Variable y = F::relu(x);
  check_close(y, {4}, {0, 0, 3, NAN});
  CHECK(gradient(y, x) == std::vector<double>{0, 0, 1, 0});
}

}  // namespace
}  // namespace kusari
