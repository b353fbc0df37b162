#include "kusari/framework/functions/math/erfinv.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("erfinv") {
  check_unary(
      "erfinv", [](const Variable& x) { return F::erfinv(x); },
      [](double x) { return static_cast<double>(erfinv_reference(x)); }, -0.8, 0.8);
}

}  // namespace
}  // namespace kusari
