#include "kusari/framework/functions/math/rounding.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("floor, ceil and fix") {
  const Array x = array<float>({-1.5f, -0.5f, 0, 0.5f, 2, NAN});
  check_close(F::floor(x), {6}, {-2, -1, 0, 0, 2, NAN});
  check_close(F::ceil(x), {6}, {-1, 0, 0, 1, 2, NAN});
  check_close(F::fix(x), {6}, {-1, 0, 0, 0, 2, NAN});
  CHECK_FALSE(F::floor(Variable(x)).requires_grad());
  CHECK(F::ceil(x.astype(Dtype::float16)).dtype() == Dtype::float16);
  CHECK_THROWS_WITH_AS(F::fix(int_ones({2})), "F::fix: x has dtype int64: x.dtype must be floating", TypeError);
}

TEST_CASE("round takes the even one of two") {
  const Array x = array<float>({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.4f, 2.6f, NAN, INFINITY});
  check_close(F::round(x), {9}, {-2, -2, 0, 0, 2, 2, 3, NAN, INFINITY});
  CHECK_FALSE(F::round(Variable(x)).requires_grad());
  CHECK(F::round(x.astype(Dtype::bfloat16)).dtype() == Dtype::bfloat16);
  CHECK_THROWS_WITH_AS(F::round(int_ones({2})), "F::round: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
