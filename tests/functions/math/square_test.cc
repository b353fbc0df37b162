#include "kusari/framework/functions/math/square.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("square") {
  check_unary(
      "square", [](const Variable& x) { return F::square(x); }, [](double x) { return x * x; }, -2, 2);
}

}  // namespace
}  // namespace kusari
