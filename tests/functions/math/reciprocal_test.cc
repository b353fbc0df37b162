#include "kusari/framework/functions/math/reciprocal.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("reciprocal") {
  check_unary(
      "reciprocal", F::reciprocal, [](double x) { return 1 / x; }, 0.5, 3);
  check_unary(
      "reciprocal", F::reciprocal, [](double x) { return 1 / x; }, -3, -0.5);
}

}  // namespace
}  // namespace kusari
