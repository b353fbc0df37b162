#include "kusari/framework/functions/array/masked_fill.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array bools(const std::vector<int>& values, const Shape& shape) {
  return array(values, shape, test_device()).astype(Dtype::bool_);
}

TEST_CASE("masked_fill") {
  const Array x = array<double>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::masked_fill(x.astype(dtype), bools({1, 0, 0, 0, 1, 0}, {2, 3}), -0.5);
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 3}, {-0.5, 2, 3, 4, -0.5, 6});
  }
  check_close(F::masked_fill(x, bools({0, 1, 1}, {3}), -INFINITY), {2, 3},
              {1, -INFINITY, -INFINITY, 4, -INFINITY, -INFINITY});
  check_close(F::masked_fill(x, bools({1, 0}, {2, 1}), 7), {2, 3}, {7, 7, 7, 4, 5, 6});
  check_close(F::masked_fill(x, bools({1}, {}), 7), {2, 3}, {7, 7, 7, 7, 7, 7});
  const Variable integers = F::masked_fill(x.astype(Dtype::int8), bools({0, 1, 0}, {3}), -128);
  CHECK(integers.dtype() == Dtype::int8);
  CHECK(integers.to_vector<int>() == std::vector<int>{1, -128, 3, 4, -128, 6});
  CHECK(F::masked_fill(bools({1, 0}, {2}), bools({0, 1}, {2}), true).to_vector<int>() == std::vector<int>{1, 1});
  CHECK(F::masked_fill(zeros({0, 3}, Dtype::float32, test_device()), bools({0, 1, 0}, {3}), 1).shape() == Shape{0, 3});
  const int64_t big = (int64_t{1} << 60) + 1;
  CHECK(F::masked_fill(int_ones({1}), bools({1}, {1}), big).item<int64_t>() == big);
}

TEST_CASE("masked_fill gives what it fills no gradient") {
  check_gradients(
      [](const Variable& v) {
        return F::masked_fill(v, bools({0, 1, 0}, {3}), 2);
      },
      uniform({2, 3}, -1, 1));
  const Variable x(array<double>({NAN, INFINITY, 3}, {3}, test_device()));
  CHECK(gradient(F::masked_fill(x, bools({1, 1, 0}, {3}), 0), x) == std::vector<double>{0, 0, 1});
}

TEST_CASE("masked_fill of what does not fit") {
  CHECK_THROWS_WITH_AS(F::masked_fill(ones({2}), ones({2}), 0),
                       "F::masked_fill: mask has dtype float32: it must be bool", TypeError);
  CHECK_THROWS_WITH_AS(F::masked_fill(ones({3}), bools({0, 1}, {2, 1}), 0),
                       "F::masked_fill: mask has shape (2, 1): it must broadcast to (3,), the shape of x", TypeError);
  CHECK_THROWS_WITH_AS(F::masked_fill(ones({3}), bools({0, 1}, {2}), 0), doctest::Contains("F::masked_fill"),
                       TypeError);
  CHECK_THROWS_WITH_AS(F::masked_fill(int_ones({2}), bools({0, 1}, {2}), 0.5),
                       "F::masked_fill: value is a real number beside x of dtype int64: it must be an integer",
                       TypeError);
  CHECK_THROWS_AS(F::masked_fill(ones({2}, Dtype::int8), bools({0, 1}, {2}), 128), ValueError);
  CHECK_THROWS_WITH_AS(F::masked_fill(ones({2}), Variable(), 0), "F::masked_fill: mask is not given: it is required",
                       TypeError);
}

}  // namespace
}  // namespace kusari
