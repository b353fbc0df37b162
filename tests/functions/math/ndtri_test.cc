#include "kusari/framework/functions/math/ndtri.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("ndtri") {
  check_unary(
      "ndtri", [](const Variable& x) { return F::ndtri(x); },
      [](double x) { return static_cast<double>(ndtri_reference(x)); }, 0.1, 0.9);
}

}  // namespace
}  // namespace kusari
