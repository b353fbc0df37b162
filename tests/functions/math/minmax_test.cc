#include "kusari/framework/functions/math/minmax.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("max and min") {
  const Array x = array<float>({1, 5, -3, 4, 2, 9}, {2, 3});
  check_close(F::max(x), {}, {9});
  check_close(F::min(x), {}, {-3});
  check_close(F::max(x, 0), {3}, {4, 5, 9});
  check_close(F::min(x, 1, true), {2, 1}, {-3, 2});
  check_close(F::max(x, {0, -1}, true), {1, 1}, {9});
  check_close(F::max(array<float>({1, NAN, 2})), {}, {NAN});
  check_close(F::min(array<float>({1, NAN, 2})), {}, {NAN});
  CHECK(F::max(x.astype(Dtype::float16)).dtype() == Dtype::float16);
}

TEST_CASE("max and min give the whole gradient to each that ties") {
  const Variable x(array<float>({1, 5, 5, 1, 1, 3}, {2, 3}));
  CHECK(gradient(F::max(x, 1), x) == std::vector<double>{0, 1, 1, 0, 0, 1});
  CHECK(gradient(F::min(x, 1), x) == std::vector<double>{1, 0, 0, 1, 1, 0});
}

TEST_CASE("max's and min's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}}) {
    for (const bool keepdims : {false, true}) {
      check_gradients([&](const Variable& x) { return F::max(x, axis, keepdims); }, uniform({2, 3, 4}, -1, 1));
      check_gradients([&](const Variable& x) { return F::min(x, axis, keepdims); }, uniform({2, 3, 4}, -1, 1));
    }
  }
}

TEST_CASE("argmax and argmin") {
  const Array x = array<float>({1, 5, 5, 4, 2, 2}, {2, 3});
  CHECK(F::argmax(x).item<int>() == 1);
  CHECK(F::argmin(x).item<int>() == 0);
  CHECK(F::argmax(x).shape() == Shape{});
  CHECK(F::argmax(x).dtype() == Dtype::int32);
  CHECK(F::argmax(x, 1).to_vector<int>() == std::vector<int>{1, 0});
  CHECK(F::argmin(x, -1).to_vector<int>() == std::vector<int>{0, 1});
  CHECK(F::argmax(x, 0).to_vector<int>() == std::vector<int>{1, 0, 0});
  CHECK(F::argmax(array<float>({1, NAN, 7})).item<int>() == 1);
  CHECK(F::argmax(array<int64_t>({3, 8, 1})).item<int>() == 1);
  CHECK_FALSE(F::argmax(Variable(x)).requires_grad());
}

TEST_CASE("extremes of integers and bools keep the dtype") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64}) {
    const Array x = array<int>({3, 7, 1, 100, 0, 2}, {2, 3}, test_device()).astype(dtype);
    CHECK(F::max(x).dtype() == dtype);
    check_close(F::max(x, 1), {2}, {7, 100});
    check_close(F::min(x, 0, true), {1, 3}, {3, 0, 1});
  }
  const Array big = array<int64_t>({INT64_MAX - 1, INT64_MAX, INT64_MIN}, test_device());
  CHECK(F::max(big).item<int64_t>() == INT64_MAX);
  CHECK(F::min(big).item<int64_t>() == INT64_MIN);
  const Variable any = F::max(array<int>({0, 1, 0, 0}, {2, 2}, test_device()).astype(Dtype::bool_), 1);
  CHECK(any.dtype() == Dtype::bool_);
  check_close(any, {2}, {1, 0});
  CHECK_FALSE(any.requires_grad());
}

TEST_CASE("extremes of nothing") {
  CHECK_THROWS_WITH_AS(F::max(zeros({0, 3})), "F::max: x has shape (0, 3): an axis without elements has no extreme",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::argmin(zeros({2, 0}), 1),
                       "F::argmin: x has shape (2, 0): an axis without elements has no extreme", ValueError);
  CHECK(F::max(zeros({0, 3}), 1).shape() == Shape{0});
  CHECK(F::argmax(zeros({0, 3}), 1).shape() == Shape{0});
  CHECK_THROWS_AS(F::max(ones({2}), 1), IndexError);
  CHECK_THROWS_AS(F::argmax(ones({2}), 1), IndexError);
  CHECK_THROWS_WITH_AS(F::min(zeros({0}, Dtype::int32)),
                       "F::min: x has shape (0,): an axis without elements has no extreme", ValueError);
}

}  // namespace
}  // namespace kusari
