#include "kusari/framework/functions/math/minimum.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("minimum") {
  const auto minimum = [](const Variable& a, const Variable& b) { return F::minimum(a, b); };
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
    const Array x1 = uniform(shape, -2, 2, 1), x2 = uniform(shape, -2, 2, 2);
    check_forward(
        minimum, [](double a, double b) { return std::fmin(a, b); }, x1, x2);
    check_gradients(minimum, x1, x2);
  }
  check_gradients(minimum, uniform({2, 3}, -2, 2, 3), uniform({3}, -2, 2, 4));
}

TEST_CASE("minimum gives ties to the first argument") {
  const Variable x1(array<float>({1, 2, 3})), x2(array<float>({1, 3, 2}));
  const Variable y = F::minimum(x1, x2);
  CHECK(gradient(y, x1) == std::vector<double>{1, 1, 0});
  CHECK(gradient(y, x2) == std::vector<double>{0, 0, 1});
}

TEST_CASE("minimum of NaN and of unlike arguments") {
  check_close(F::minimum(array<float>({NAN, 1}), array<float>({1, NAN})), {2}, {NAN, NAN});
  CHECK_THROWS_WITH_AS(F::minimum(ones({2}), ones({2}, Dtype::float64)),
                       "F::minimum: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype "
                       "(float32 != float64)",
                       TypeError);
  CHECK_THROWS_AS(F::minimum(ones({2}), ones({3})), TypeError);
}

TEST_CASE("minimum of integers") {
  for (const Dtype dtype : {Dtype::int8, Dtype::int32, Dtype::int64}) {
    const Array a = array<int>({-3, 5, 100}, {3, 1}, test_device()).astype(dtype);
    const Array b = array<int>({-4, 7}, test_device()).astype(dtype);
    const Variable y = F::minimum(a, b);
    CHECK(y.dtype() == dtype);
    CHECK_FALSE(y.requires_grad());
    CHECK(y.to_vector<int>() == std::vector<int>{-4, -3, -4, 5, -4, 7});
  }
  const int64_t big = (int64_t{1} << 60) + 1;
  CHECK(F::minimum(array<int64_t>({big}), array<int64_t>({big - 1})).item<int64_t>() == big - 1);
  CHECK_THROWS_AS(F::minimum(int_ones({2}), int_ones({3})), TypeError);
  CHECK_THROWS_AS(F::minimum(int_ones({2}), ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
