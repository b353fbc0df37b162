#include "kusari/framework/functions/array/one_hot.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("one_hot") {
  const Array t = array<int64_t>({1, -1, 0, 3, -4, 2}, {2, 3}, test_device());
  const std::vector<double> last = {0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const Variable y = F::one_hot(t, 3);
  CHECK(y.dtype() == Dtype::float32);
  CHECK_FALSE(y.requires_grad());
  check_close(y, {2, 3, 3}, last);
  for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int32}) {
    check_close(F::one_hot(array<int>({0, 2}, test_device()).astype(dtype), 3), {2, 3}, {1, 0, 0, 0, 0, 1});
  }
  check_close(F::one_hot(t, 3, {.axis = 1}), {2, 3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  check_close(F::one_hot(t.at(0), 3, {.axis = 0}), {3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0});
  const Variable values = F::one_hot(t.at(0), 2, {.on_value = 5, .off_value = -2, .dtype = Dtype::int32});
  CHECK(values.dtype() == Dtype::int32);
  CHECK(values.to_vector<int>() == std::vector<int>{-2, 5, -2, 5, 5, -2});
  const int64_t big = (int64_t{1} << 60) + 1;
  const Variable exact = F::one_hot(t.at(0), 2, {.on_value = big, .dtype = Dtype::int64});
  CHECK(exact.to_vector<int64_t>() == std::vector<int64_t>{0, big, 0, big, big, 0});
  check_close(F::one_hot(full({}, 1, Dtype::int64), 3), {3}, {0, 1, 0});
  check_close(F::one_hot(zeros({0}, Dtype::int32), 3), {0, 3}, {});
}

TEST_CASE("one_hot's errors") {
  CHECK_THROWS_WITH_AS(F::one_hot(ones({2}), 3),
                       "F::one_hot: indices has dtype float32: indices.dtype must be an integer dtype", TypeError);
  CHECK_THROWS_WITH_AS(F::one_hot(int_ones({2}), 0), "F::one_hot: depth is 0: it must be positive", ValueError);
  CHECK_THROWS_AS(F::one_hot(int_ones({2}), 3, {.axis = 2}), IndexError);
  CHECK_THROWS_WITH_AS(F::one_hot(Variable(), 3), "F::one_hot: indices is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
