#include "kusari/framework/functions/math/solve.h"

#include <limits>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array far_from_singular(int64_t count) {
  return uniform({count, 3, 3}, -1, 1, 3) + array<double>({3, 0, 0, 0, 3, 0, 0, 0, 3}, {3, 3}, test_device());
}

TEST_CASE("solve") {
  const Array a = array<double>({4, 7, 2, 6}, {2, 2}, test_device());  // its inverse: (0.6, -0.7; -0.2, 0.4)
  const Array b = array<double>({1, 0, 10, 0, 1, 20}, {2, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable x = F::solve(a.astype(dtype), b.astype(dtype));
    CHECK(x.dtype() == dtype);
    check_close(x, {2, 3}, {0.6, -0.7, -8, -0.2, 0.4, 6}, 4);
  }
  check_close(F::solve(a, array<double>({10, 20}, test_device())), {2}, {-8, 6}, 4);
  check_close(F::solve(a.transpose(), b), {2, 3}, {0.6, -0.2, 2, -0.7, 0.4, 1}, 4);
  // Without an exchange of rows there is no pivot.
  check_close(F::solve(array<double>({0, 2, 4, 0}, {2, 2}, test_device()), array<double>({2, 4}, test_device())), {2},
              {1, 1});
}

TEST_CASE("solve broadcasts leading axes") {
  const Array two = array<double>({2, 0, 0, 4, 1, 0, 0, 8}, {2, 2, 2}, test_device());
  check_close(F::solve(two, array<double>({8, 8}, test_device())), {2, 2}, {4, 2, 8, 1});
  check_close(F::solve(two, array<double>({8, 8}, {2, 1}, test_device())), {2, 2, 1}, {4, 2, 8, 1});
  const Array columns = array<double>({8, 16, 24, 32}, {2, 1, 2, 1}, test_device());
  check_close(F::solve(two, columns), {2, 2, 2, 1}, {4, 4, 8, 2, 12, 8, 24, 4});
  check_close(F::solve(two.at(0), columns), {2, 1, 2, 1}, {4, 4, 12, 8});
}

TEST_CASE("solve of nothing") {
  const auto none = [](const Shape& shape) { return Variable(zeros(shape, Dtype::float32, test_device())); };
  check_close(F::solve(none({0, 0}), none({0, 3})), {0, 3}, {});
  check_close(F::solve(none({0, 0}), none({0})), {0}, {});
  check_close(F::solve(none({0, 2, 2}), none({2, 3})), {0, 2, 3}, {});
  check_close(F::solve(none({2, 2}), none({2, 0})), {2, 0}, {});
  const Variable a = none({0, 2, 2}), b = none({2, 3});
  CHECK(gradient(F::solve(a, b), b) == std::vector<double>(6, 0.0));
}

TEST_CASE("solve's gradients") {
  const auto solve = [](const Variable& a, const Variable& b) { return F::solve(a, b); };
  const Array one = far_from_singular(1).at(0), two = far_from_singular(2);
  check_gradients(solve, one, uniform({3, 2}, -1, 1));
  check_gradients(solve, one, uniform({3}, -1, 1));
  check_gradients(solve, two, uniform({3}, -1, 1));
  check_gradients(solve, two, uniform({2, 3, 1}, -1, 1));
  check_gradients(solve, one, uniform({2, 3, 2}, -1, 1));
  check_gradients(solve, two, uniform({2, 1, 3, 2}, -1, 1));
  check_gradients(solve, array<double>({3}, {1, 1}, test_device()), uniform({1}, -1, 1));
}

TEST_CASE("solve passes NaN on") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array b = ones({2}, Dtype::float64, test_device());
  check_close(F::solve(array<double>({nan, 1, 2, 3}, {2, 2}, test_device()), b), {2}, {nan, nan});
}

TEST_CASE("solve's errors") {
  const Array one = array<float>({1, 2, 2, 4}, {2, 2}), two = array<float>({1, 0, 0, 1, 1, 1, 1, 1}, {2, 2, 2});
  CHECK_THROWS_WITH_AS(F::solve(one, ones({2})), "F::solve: a is singular", ValueError);
  CHECK_THROWS_WITH_AS(F::solve(two, ones({2})), "F::solve: matrix 1 of a is singular", ValueError);
  CHECK_THROWS_WITH_AS(F::solve(ones({2, 3}), ones({2})),
                       "F::solve: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::solve(one, ones({3})),
                       "F::solve: b has shape (3,) but a has shape (2, 2): b.shape[-1] must equal a.shape[-1] (3 != 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(
      F::solve(one, ones({3, 1})),
      "F::solve: b has shape (3, 1) but a has shape (2, 2): b.shape[-2] must equal a.shape[-1] (3 != 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::solve(two, ones({3, 2, 2})),
                       "F::solve: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3", TypeError);
  CHECK_THROWS_WITH_AS(
      F::solve(one, ones({2}, Dtype::float64)),
      "F::solve: b has dtype float64 but a has dtype float32: b.dtype must equal a.dtype (float64 != float32)",
      TypeError);
  CHECK_THROWS_AS(F::solve(int_ones({2, 2}), int_ones({2})), TypeError);
  CHECK_THROWS_WITH_AS(F::solve(one, Variable()), "F::solve: b is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
