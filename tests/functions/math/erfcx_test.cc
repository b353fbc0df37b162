#include "kusari/framework/functions/math/erfcx.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("erfcx") {
  check_unary(
      "erfcx", [](const Variable& x) { return F::erfcx(x); },
      [](double x) { return static_cast<double>(erfcx_reference(x)); }, -1, 3);
}

TEST_CASE("erfcx where erfc is 0") {
  CHECK(F::erfcx(array<float>({100})).item<double>() == doctest::Approx(0.005641613782989433).epsilon(1e-7).scale(0));
}

}  // namespace
}  // namespace kusari
