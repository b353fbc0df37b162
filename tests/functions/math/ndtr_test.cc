#include "kusari/framework/functions/math/ndtr.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("ndtr") {
  check_unary(
      "ndtr", [](const Variable& x) { return F::ndtr(x); },
      [](double x) { return static_cast<double>(ndtr_reference(x)); }, -2, 2);
}

TEST_CASE("ndtr keeps small values") {
  CHECK(F::ndtr(array<double>({-20})).item<double>() ==
        doctest::Approx(2.753624118606233695e-89).epsilon(1e-14).scale(0));
}

}  // namespace
}  // namespace kusari
