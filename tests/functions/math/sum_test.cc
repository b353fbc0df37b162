#include "kusari/framework/functions/math/sum.h"

#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("sum") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  check_close(F::sum(x), {}, {21});
  check_close(F::sum(x, 1), {1, 3}, {5, 7, 9});
  check_close(F::sum(x, -1, true), {1, 2, 1}, {6, 15});
  check_close(F::sum(x, {0, -1}), {2}, {6, 15});
  check_close(F::sum(x, {0, 1, 2}, true), {1, 1, 1}, {21});
  check_close(F::sum(x, {}), {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  check_close(F::sum(x.transpose({2, 0, 1}), 0), {1, 2}, {6, 15});
  check_close(F::sum(zeros({0, 3})), {}, {0});
  check_close(F::sum(zeros({0, 3}), 0), {3}, {0, 0, 0});
  check_close(F::sum(array<float>({7}, Shape{})), {}, {7});
}

TEST_CASE("sum of integers and bool is int64, as NumPy's") {
  const Variable bytes = F::sum(full({300}, 200, Dtype::uint8, test_device()));
  CHECK(bytes.dtype() == Dtype::int64);
  CHECK(bytes.item<int64_t>() == 60000);
  const Variable ints = F::sum(full({3}, 2'000'000'000, Dtype::int32, test_device()));
  CHECK(ints.dtype() == Dtype::int64);
  CHECK(ints.item<int64_t>() == 6'000'000'000);
  const Variable truth = F::sum(array<bool>({true, false, true, true}, {2, 2}), 0, true);
  CHECK(truth.dtype() == Dtype::int64);
  CHECK(truth.shape() == Shape{1, 2});
  CHECK(truth.to_vector<int64_t>() == std::vector<int64_t>{2, 1});
  CHECK(F::sum(full({2, 100}, -100, Dtype::int8, test_device()), 1).to_vector<int64_t>() ==
        std::vector<int64_t>{-10000, -10000});
  CHECK(F::sum(array<int64_t>({int64_t{1} << 60, 1})).item<int64_t>() == (int64_t{1} << 60) + 1);
  CHECK(F::sum(array<int8_t>({1, 2}), {}).dtype() == Dtype::int64);
}

TEST_CASE("sum's gradient by integers has their dtype") {
  const Variable x(array<int32_t>({1, 2}));
  const Variable y = F::sum(x);
  y.backward();
  CHECK(x.grad().dtype() == Dtype::int32);
  CHECK(x.grad().to_vector<int32_t>() == std::vector<int32_t>{1, 1});
}

TEST_CASE("sum accumulates half types in float32") {
  CHECK(F::sum(ones({4096}, Dtype::float16)).item<float>() == 4096);
  CHECK(F::sum(ones({4096, 2}, Dtype::float16), 0).to_vector<float>() == std::vector<float>{4096, 4096});
  CHECK(F::sum(ones({1024}, Dtype::bfloat16)).item<float>() == 1024);
}

TEST_CASE("sum's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}, Axes{}}) {
    for (const bool keepdims : {false, true}) {
      check_gradients([&](const Variable& x) { return F::sum(x, axis, keepdims); }, uniform({2, 3, 4}, -1, 1));
    }
  }
  check_gradients([](const Variable& x) { return F::sum(x); }, uniform({}, -1, 1));
  check_gradients([](const Variable& x) { return F::sum(x, 0); }, uniform({0, 2}, -1, 1));
}

TEST_CASE("sum over wrong axes") {
  CHECK_THROWS_AS(F::sum(ones({2, 3}), 2), IndexError);
  CHECK_THROWS_WITH_AS(F::sum(ones({2, 3}), {0, -2}), "F::sum: axis -2 comes twice", ValueError);
}

TEST_CASE("sum_to of integers and bool has sum's dtype") {
  const Variable bytes = F::sum_to(full({1, 300}, 200, Dtype::uint8, test_device()), {1, 1});
  CHECK(bytes.dtype() == Dtype::int64);
  CHECK(bytes.shape() == Shape{1, 1});
  CHECK(bytes.item<int64_t>() == 60000);
  CHECK(F::sum_to(full({3}, 2'000'000'000, Dtype::int32, test_device()), {}).item<int64_t>() == 6'000'000'000);
  CHECK(F::sum_to(full({2, 3}, true, Dtype::bool_, test_device()), {3}).to_vector<int64_t>() ==
        std::vector<int64_t>{2, 2, 2});
  CHECK(F::sum_to(ones({1, 3}, Dtype::int8, test_device()), {3}).dtype() == Dtype::int64);
  const Variable same(ones({2, 3}, Dtype::int8, test_device()));
  CHECK(is_same(F::sum_to(same, {2, 3}), same));
}

TEST_CASE("gradients through sum_to and broadcast_to have the dtype of integers") {
  const Variable x(array<int32_t>({1, 2}, test_device()));
  F::sum_to(x, {1}).backward();
  CHECK(x.grad().dtype() == Dtype::int32);
  CHECK(x.grad().to_vector<int32_t>() == std::vector<int32_t>{1, 1});
  const Variable row(array<int32_t>({1, 2}, test_device()));
  F::sum(F::broadcast_to(row, {3, 2})).backward();
  CHECK(row.grad().dtype() == Dtype::int32);
  CHECK(row.grad().to_vector<int32_t>() == std::vector<int32_t>{3, 3});
  const Variable a(ones({2, 3}, Dtype::int32)), b(ones({4, 3, 2}, Dtype::int32));
  F::sum(F::matmul(a, b)).backward();
  CHECK(a.grad().dtype() == Dtype::int32);
  CHECK(a.grad().to_vector<int32_t>() == std::vector<int32_t>{8, 8, 8, 8, 8, 8});
}

TEST_CASE("sum_to") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::sum_to(x, {3}), {3}, {5, 7, 9});
  check_close(F::sum_to(x, {2, 1}), {2, 1}, {6, 15});
  check_close(F::sum_to(x, {1, 1}), {1, 1}, {21});
  check_close(F::sum_to(x, {}), {}, {21});
  const Variable v(x);
  CHECK(is_same(F::sum_to(v, {2, 3}), v));
  for (const Shape& shape : {Shape{3}, Shape{2, 1, 4}, Shape{}, Shape{1, 3, 1}}) {
    if (shape.ndim() == 1) {
      check_gradients([&](const Variable& a) { return F::sum_to(a, shape); }, uniform({2, 3}, -1, 1));
    } else {
      check_gradients([&](const Variable& a) { return F::sum_to(a, shape); }, uniform({2, 3, 4}, -1, 1));
    }
  }
  CHECK_THROWS_WITH_AS(F::sum_to(x, {2}), "F::sum_to: x has shape (2, 3), to which shape (2,) does not broadcast",
                       TypeError);
  CHECK_THROWS_AS(F::sum_to(x, {1, 2, 3}), TypeError);
}

}  // namespace
}  // namespace kusari
