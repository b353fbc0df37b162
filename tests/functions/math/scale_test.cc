#include "kusari/framework/functions/math/scale.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("scale applies y along x's axes from one on") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const Array y = array<float>({10, 100});
  check_close(F::scale(x, y), {2, 2, 2}, {10, 20, 300, 400, 50, 60, 700, 800});
  check_close(F::scale(x, y, 0), {2, 2, 2}, {10, 20, 30, 40, 500, 600, 700, 800});
  check_close(F::scale(x, y, -1), {2, 2, 2}, {10, 200, 30, 400, 50, 600, 70, 800});
  check_close(F::scale(x, array<float>({1, 2, 3, 4}, {2, 2})), {2, 2, 2}, {1, 4, 9, 16, 5, 12, 21, 32});
}

TEST_CASE("scale: derivatives") {
  const Array x = uniform({2, 3, 4}, -1, 1), y = uniform({3}, -1, 1, 2), wide = uniform({2, 3}, -1, 1, 3);
  check_gradients([](const Variable& a, const Variable& b) { return F::scale(a, b); }, x, y);
  check_gradients([](const Variable& a, const Variable& b) { return F::scale(a, b, 0); }, x, wide);
}

TEST_CASE("scale says what does not fit") {
  CHECK_THROWS_WITH_AS(F::scale(zeros({2, 3}), zeros({2})),
                       "F::scale: x has shape (2, 3) but y has shape (2,): y must have the sizes of x's axes from axis "
                       "1 on",
                       ValueError);
}

}  // namespace
}  // namespace kusari
