#include "kusari/framework/functions/activation/glu.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("glu") {
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  const Array x = array<double>({1, -2, 3, 4, 0.5, 6, -7, 8}, {2, 4});
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::glu(x.astype(dtype));
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 2}, {1 * s(3), -2 * s(4), 0.5 * s(-7), 6 * s(8)});
  }
  check_close(F::glu(x, 0), {1, 4}, {1 * s(0.5), -2 * s(6), 3 * s(-7), 4 * s(8)});
  CHECK(F::glu(zeros({3, 0})).shape() == Shape{3, 0});
  check_gradients([](const Variable& v) { return F::glu(v, 1); }, uniform({2, 4, 3}, -2, 2));
  check_gradients([](const Variable& v) { return F::glu(v); }, uniform({2, 6}, -2, 2));
}

TEST_CASE("glu of what does not fit") {
  CHECK_THROWS_WITH_AS(F::glu(ones({2, 3})), "F::glu: x has shape (2, 3): x.shape[1] must be even (3)", TypeError);
  CHECK_THROWS_WITH_AS(F::glu(int_ones({2})), "F::glu: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_AS(F::glu(ones({2, 4}), 2), IndexError);
  CHECK_THROWS_AS(F::glu(ones({})), IndexError);
}

}  // namespace
}  // namespace kusari
