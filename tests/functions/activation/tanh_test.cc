#include "kusari/framework/functions/activation/tanh.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("tanh") {
  check_unary(
      "tanh", [](const Variable& x) { return F::tanh(x); }, [](double x) { return std::tanh(x); }, -3, 3);
}

TEST_CASE("tanh of large arguments") { check_close(F::tanh(array<float>({-1000.f, 0.f, 1000.f})), {3}, {-1, 0, 1}); }

}  // namespace
}  // namespace kusari
