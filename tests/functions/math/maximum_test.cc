#include "kusari/framework/functions/math/maximum.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("maximum") {
  const auto maximum = [](const Variable& a, const Variable& b) { return F::maximum(a, b); };
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
    const Array x1 = uniform(shape, -2, 2, 1), x2 = uniform(shape, -2, 2, 2);
    check_forward(
        maximum, [](double a, double b) { return std::fmax(a, b); }, x1, x2);
    check_gradients(maximum, x1, x2);
  }
  check_gradients(maximum, uniform({2, 3}, -2, 2, 3), uniform({3}, -2, 2, 4));
}

TEST_CASE("maximum gives ties to the first argument") {
  const Variable x1(array<float>({1, 2, 3})), x2(array<float>({1, 3, 2}));
  const Variable y = F::maximum(x1, x2);
  CHECK(gradient(y, x1) == std::vector<double>{1, 0, 1});
  CHECK(gradient(y, x2) == std::vector<double>{0, 1, 0});
}

TEST_CASE("maximum of NaN and of unlike arguments") {
  check_close(F::maximum(array<float>({NAN, 1}), array<float>({1, NAN})), {2}, {NAN, NAN});
  CHECK_THROWS_WITH_AS(F::maximum(ones({2}), ones({2}, Dtype::float64)),
                       "F::maximum: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype "
                       "(float32 != float64)",
                       TypeError);
  CHECK_THROWS_AS(F::maximum(ones({2}), ones({3})), TypeError);
}

TEST_CASE("maximum of integers") {
  for (const Dtype dtype : {Dtype::int8, Dtype::int32, Dtype::int64}) {
    const Array a = array<int>({-3, 5, 100}, {3, 1}, test_device()).astype(dtype);
    const Array b = array<int>({-4, 7}, test_device()).astype(dtype);
    const Variable y = F::maximum(a, b);
    CHECK(y.dtype() == dtype);
    CHECK_FALSE(y.requires_grad());
    CHECK(y.to_vector<int>() == std::vector<int>{-3, 7, 5, 7, 100, 100});
  }
  const int64_t big = (int64_t{1} << 60) + 1;
  CHECK(F::maximum(array<int64_t>({big}), array<int64_t>({big - 1})).item<int64_t>() == big);
  CHECK_THROWS_AS(F::maximum(int_ones({2}), int_ones({3})), TypeError);
  CHECK_THROWS_AS(F::maximum(int_ones({2}), ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
