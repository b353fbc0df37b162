#include "kusari/framework/functions/math/erfcinv.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("erfcinv") {
  check_unary(
      "erfcinv", [](const Variable& x) { return F::erfcinv(x); },
      [](double x) { return static_cast<double>(erfcinv_reference(x)); }, 0.2, 1.8);
}

}  // namespace
}  // namespace kusari
