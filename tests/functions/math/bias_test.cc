#include "kusari/framework/functions/math/bias.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("bias adds y along x's axes from one on") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const Array y = array<float>({10, 100});
  check_close(F::bias(x, y), {2, 2, 2}, {11, 12, 103, 104, 15, 16, 107, 108});
  check_close(F::bias(x, y, 2), {2, 2, 2}, {11, 102, 13, 104, 15, 106, 17, 108});
  check_close(F::bias(x, full({}, 1, Dtype::float32)), {2, 2, 2}, {2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("bias: derivatives") {
  const Array x = uniform({2, 3, 4}, -1, 1), y = uniform({3}, -1, 1, 2), wide = uniform({2, 3}, -1, 1, 3);
  check_gradients([](const Variable& a, const Variable& b) { return F::bias(a, b); }, x, y);
  check_gradients([](const Variable& a, const Variable& b) { return F::bias(a, b, 0); }, x, wide);
}

TEST_CASE("bias says what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::bias(zeros({2, 3}), zeros({3, 2})),
      "F::bias: x has shape (2, 3) but y has shape (3, 2): y must have the sizes of x's axes from axis "
      "1 on",
      ValueError);
  CHECK_THROWS_AS(F::bias(zeros({2, 3}), zeros({3}), 2), IndexError);
}

}  // namespace
}  // namespace kusari
