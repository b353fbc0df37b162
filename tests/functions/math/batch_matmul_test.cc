#include "kusari/framework/functions/math/batch_matmul.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("batch_matmul") {
  const Array a = array<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}), v = array<float>({1, 1, 2, 1}, {2, 2});
  check_close(F::batch_matmul(a, v), {2, 2, 1}, {3, 7, 16, 22});
  check_close(F::batch_matmul(a, v, {.transa = true}), {2, 2, 1}, {4, 6, 17, 20});
  check_close(F::batch_matmul(v, v, {.transa = true}), {2, 1, 1}, {2, 5});
  check_close(F::batch_matmul(v, v, {.transb = true}), {2, 2, 2}, {1, 1, 1, 1, 4, 2, 2, 1});
  check_close(F::batch_matmul(zeros({0, 2, 3}), zeros({0, 3, 1})), {0, 2, 1}, {});
  for (const bool transa : {false, true}) {
    for (const bool transb : {false, true}) {
      check_gradients([=](const Variable& x,
                          const Variable& y) { return F::batch_matmul(x, y, {.transa = transa, .transb = transb}); },
                      uniform({2, transa ? 3 : 4, transa ? 4 : 3}, -1, 1, 1),
                      uniform({2, transb ? 2 : 3, transb ? 3 : 2}, -1, 1, 2));
    }
  }
}

TEST_CASE("batch_matmul's errors") {
  CHECK_THROWS_WITH_AS(
      F::batch_matmul(ones({2, 3, 4}), ones({2, 3, 4})),
      "F::batch_matmul: a has shape (2, 3, 4) but b has shape (2, 3, 4): there must be as many matrices, and their "
      "inner sizes must be equal",
      TypeError);
  CHECK_THROWS_AS(F::batch_matmul(ones({2, 3, 4}), ones({1, 4, 3})), TypeError);
  CHECK_THROWS_WITH_AS(F::batch_matmul(ones({2}), ones({2, 3, 4})),
                       "F::batch_matmul: a has shape (2,): a.ndim must be 2 or 3", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_matmul(ones({2, 3, 4}), int_ones({2, 4})),
                       "F::batch_matmul: b has dtype int64: b.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_matmul(Variable(), ones({1, 2})), "F::batch_matmul: a is not given: it is required",
                       TypeError);
}

}  // namespace
}  // namespace kusari
