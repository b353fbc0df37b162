#include "kusari/framework/functions/math/cholesky.h"

#include <limits>

#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("cholesky") {
  // The lower factor of Wikipedia's example, https://en.wikipedia.org/wiki/Cholesky_decomposition.
  const Array a = array<double>({4, 12, -16, 12, 37, -43, -16, -43, 98}, {3, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::cholesky(a.astype(dtype));
    CHECK(y.dtype() == dtype);
    check_close(y, {3, 3}, {2, 0, 0, 6, 1, 0, -8, 5, 3}, 20);
  }
  check_close(F::cholesky(zeros({0, 0}, Dtype::float32, test_device())), {0, 0}, {});
  check_close(F::cholesky(zeros({0, 2, 2}, Dtype::float32, test_device())), {0, 2, 2}, {});
  check_close(F::cholesky(array<double>({4, 6, 6, 10, 9, 0, 0, 1}, {2, 1, 2, 2}, test_device())), {2, 1, 2, 2},
              {2, 0, 3, 1, 3, 0, 0, 1});
  // What is above the diagonal does not matter.
  check_close(F::cholesky(array<double>({4, 99, 6, 10}, {2, 2}, test_device())), {2, 2}, {2, 0, 3, 1});
}

TEST_CASE("cholesky's gradients") {
  const Array a = array<double>({2, 0.3, -0.4, 0.3, 1.5, 0.2, -0.4, 0.2, 1.8}, {3, 3}, test_device());
  // The gradient is that of symmetric matrices.
  check_gradients([](const Variable& x) { return F::cholesky((x + F::transpose(x)) * 0.5); }, a);
  const Array batch = array<double>({4, 6, 6, 10, 9, 0, 0, 1}, {2, 1, 2, 2}, test_device());
  check_gradients([](const Variable& x) { return F::cholesky((x + F::swapaxes(x, -1, -2)) * 0.5); }, batch);
  const Variable x(array<double>({4, 6, 6, 10}, {2, 2}, test_device()));
  // y = (2, 0; 3, 1): dy00 / da00 = 1 / (2 y00).
  const std::vector<double> g = gradient(F::cholesky(x), x, array<double>({1, 7, 0, 0}, {2, 2}, test_device()));
  CHECK(g[0] == doctest::Approx(0.25));
  CHECK(g[1] == doctest::Approx(0).scale(1));
  CHECK(g[1] == g[2]);
}

TEST_CASE("cholesky's errors") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(F::cholesky(array<double>({1, 2, 2, 1}, {2, 2})), "F::cholesky: a is not positive definite",
                       ValueError);
  CHECK_THROWS_AS(F::cholesky(array<double>({1, 0, 0, nan}, {2, 2})), ValueError);
  CHECK_THROWS_AS(F::cholesky(zeros({1, 1})), ValueError);
  CHECK_THROWS_WITH_AS(F::cholesky(ones({2, 3})),
                       "F::cholesky: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::cholesky(array<double>({1, 0, 0, 1, 1, 2, 2, 1}, {2, 2, 2})),
                       "F::cholesky: matrix 1 of a is not positive definite", ValueError);
  CHECK_THROWS_AS(F::cholesky(ones({2})), TypeError);
  CHECK_THROWS_WITH_AS(F::cholesky(int_ones({2, 2})), "F::cholesky: a has dtype int64: a.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::cholesky(Variable()), "F::cholesky: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
