#include "kusari/framework/functions/math/sqrt.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sqrt") {
  check_unary(
      "sqrt", [](const Variable& x) { return F::sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.5, 3);
}

TEST_CASE("rsqrt") {
  check_unary(
      "rsqrt", [](const Variable& x) { return F::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0.5, 3);
}

}  // namespace
}  // namespace kusari
