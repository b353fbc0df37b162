#include "kusari/framework/functions/math/inv.h"

#include <limits>

#include "kusari/framework/functions/math/matmul.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("inv") {
  const Array a = array<double>({4, 7, 2, 6}, {2, 2}, test_device());  // det 10
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::inv(a.astype(dtype));
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 2}, {0.6, -0.7, -0.2, 0.4}, 4);
  }
  check_close(F::inv(a.transpose()), {2, 2}, {0.6, -0.2, -0.7, 0.4});
  check_close(F::inv(zeros({0, 0}, Dtype::float32, test_device())), {0, 0}, {});
  // Without an exchange of rows there is no pivot.
  check_close(F::inv(array<double>({0, 2, 4, 0}, {2, 2}, test_device())), {2, 2}, {0, 0.25, 0.5, 0});
}

TEST_CASE("batch_inv") {
  const Array a = array<double>({2, 0, 0, 4, 4, 7, 2, 6}, {2, 2, 2}, test_device());
  check_close(F::batch_inv(a), {2, 2, 2}, {0.5, 0, 0, 0.25, 0.6, -0.7, -0.2, 0.4});
  check_close(F::inv(a.reshape({2, 1, 2, 2})), {2, 1, 2, 2}, {0.5, 0, 0, 0.25, 0.6, -0.7, -0.2, 0.4});
  check_close(F::inv(zeros({2, 0, 3, 3}, Dtype::float32, test_device())), {2, 0, 3, 3}, {});
  check_close(F::batch_inv(zeros({0, 3, 3}, Dtype::float32, test_device())), {0, 3, 3}, {});
  check_close(F::batch_inv(zeros({3, 0, 0}, Dtype::float32, test_device())), {3, 0, 0}, {});
  const Array many = uniform({40, 6, 6}, -1, 1);
  const std::vector<double> unit = F::matmul(many, F::batch_inv(many)).to_vector<double>();
  for (size_t i = 0; i < unit.size(); ++i) {
    CHECK(unit[i] == doctest::Approx(i % 36 % 7 == 0 ? 1.0 : 0.0).epsilon(1e-9).scale(1));
  }
}

TEST_CASE("inv's gradients") {
  const Array a = array<double>({2, 0.3, -0.4, 0.1, 1.5, 0.2, 0.5, -0.3, 1.8}, {3, 3}, test_device());
  check_gradients([](const Variable& x) { return F::inv(x); }, a);
  check_gradients([](const Variable& x) { return F::batch_inv(x); }, a.reshape({1, 3, 3}));
  check_gradients([](const Variable& x) { return F::inv(x); }, array<double>({4, 7, 2, 6, 0, 2, 4, 0}, {2, 1, 2, 2}));
}

TEST_CASE("inv passes NaN on") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array a = array<double>({nan, 1, 2, 3, 2, 0, 0, 4}, {2, 2, 2}, test_device());
  check_close(F::inv(a), {2, 2, 2}, {nan, nan, nan, nan, 0.5, 0, 0, 0.25});
}

TEST_CASE("inv's errors") {
  CHECK_THROWS_WITH_AS(F::inv(array<float>({1, 2, 2, 4}, {2, 2})), "F::inv: a is singular", ValueError);
  CHECK_THROWS_WITH_AS(F::batch_inv(array<float>({1, 0, 0, 1, 1, 1, 1, 1}, {2, 2, 2})),
                       "F::batch_inv: matrix 1 of a is singular", ValueError);
  CHECK_THROWS_WITH_AS(F::inv(ones({2, 3})), "F::inv: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::inv(array<float>({1, 0, 0, 1, 1, 1, 1, 1}, {2, 1, 2, 2})),
                       "F::inv: matrix 1 of a is singular", ValueError);
  CHECK_THROWS_WITH_AS(F::inv(ones({2})), "F::inv: a has shape (2,): a.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_AS(F::batch_inv(ones({2, 2})), TypeError);
  CHECK_THROWS_WITH_AS(F::inv(int_ones({2, 2})), "F::inv: a has dtype int64: a.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::inv(Variable()), "F::inv: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
