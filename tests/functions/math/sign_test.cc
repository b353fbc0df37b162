#include "kusari/framework/functions/math/sign.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sign") {
  const auto sign = [](const Variable& x) { return F::sign(x); };
  check_forward(
      sign, [](double x) { return x > 0 ? 1.0 : -1.0; }, uniform({3, 4}, -1, 1));
  check_close(F::sign(array<float>({-2, -0.f, 0, NAN})), {4}, {-1, 0, 0, NAN});
  CHECK_FALSE(F::sign(Variable(ones({2}))).requires_grad());
  CHECK_THROWS_WITH_AS(F::sign(int_ones({2})), "F::sign: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
