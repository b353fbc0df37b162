#include "kusari/framework/functions/math/tensordot.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("tensordot") {
  const Array a = array<float>({1, 2, 3, 4}, {2, 2}), b = array<float>({5, 6, 7, 8}, {2, 2});
  check_close(F::tensordot(a, b), {}, {70});
  check_close(F::tensordot(a, b, 1), {2, 2}, {19, 22, 43, 50});
  check_close(F::tensordot(a, b, 0), {2, 2, 2, 2}, {5, 6, 7, 8, 10, 12, 14, 16, 15, 18, 21, 24, 20, 24, 28, 32});
  check_close(F::tensordot(a, b, {{0}, {1}}), {2, 2}, {23, 31, 34, 46});
  check_close(F::tensordot(a, b, {{-1, 0}, {0, 1}}), {}, {1 * 5 + 2 * 7 + 3 * 6 + 4 * 8});
  check_close(F::tensordot(a, ones({2, 0}), 1), {2, 0}, {});
  check_close(F::tensordot(ones({2, 0}), ones({0, 3}), 1), {2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK(F::tensordot(a, b.astype(Dtype::float64)).dtype() == Dtype::float64);
  check_gradients(
      [](const Variable& x, const Variable& y) {
        return F::tensordot(x, y, {{2, 0}, {0, 2}});
      },
      uniform({2, 3, 4}, -1, 1, 1), uniform({4, 2, 2}, -1, 1, 2));
}

TEST_CASE("tensordot's errors") {
  const Array a = ones({2, 3}), b = ones({4, 2});
  CHECK_THROWS_WITH_AS(F::tensordot(a, b, 1),
                       "F::tensordot: a has shape (2, 3) but b has shape (4, 2): a.shape[1] must equal b.shape[0] "
                       "(3 != 4)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::tensordot(a, b, 3),
                       "F::tensordot: a has shape (2, 3) and b has shape (4, 2): both must have 3 axes to sum over",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::tensordot(a, b, {{0, 1}, {1}}),
                       "F::tensordot: 2 axes of a but 1 of b: they must come in pairs", ValueError);
  CHECK_THROWS_WITH_AS(F::tensordot(a, b, {{0, -2}, {1, 0}}),
                       "F::tensordot: axis -2 of a comes twice: each may come once", ValueError);
  CHECK_THROWS_AS(F::tensordot(a, b, {{2}, {0}}), IndexError);
  CHECK_THROWS_WITH_AS(F::tensordot(a, int_ones({3})), "F::tensordot: b has dtype int64: b.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::tensordot(Variable(), ones({2})), "F::tensordot: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
