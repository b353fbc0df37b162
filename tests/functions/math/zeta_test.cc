#include "kusari/framework/functions/math/zeta.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("zeta") {
  for (const double s : {1.5, 2.0, 7.25}) {
    CAPTURE(s);
    const auto zeta = [s](const Variable& q) { return F::zeta(s, q); };
    check_forward(
        zeta, [s](double q) { return static_cast<double>(zeta_reference(s, q)); }, uniform({3, 2}, 1, 4));
    check_gradients(zeta, uniform({5}, 1, 4));
  }
  check_gradients([](const Variable& q) { return F::zeta(3, q); }, uniform({4}, -0.8, -0.3));
  check_gradients([](const Variable& q) { return F::zeta(2, q); }, uniform({2, 0}, 1, 2));
}

TEST_CASE("zeta takes its exponent as a constant of any dtype") {
  const Variable s(array<double>({2, 3, 4}, {3, 1}, test_device()));
  const Variable q(uniform({2}, 1, 3).astype(Dtype::float32));
  const Variable y = F::zeta(s, q);
  CHECK(y.dtype() == Dtype::float32);
  CHECK(y.shape() == Shape{3, 2});
  CHECK(!grad({y}, {s}, {})[0].is_defined());
  check_gradients([&](const Variable& v) { return F::zeta(Variable(s.array(), false), v); }, uniform({2}, 1, 3));
  CHECK_THROWS_WITH_AS(F::zeta(2, Variable(int_ones({2}), false)),
                       "F::zeta: q has dtype int64: q.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
