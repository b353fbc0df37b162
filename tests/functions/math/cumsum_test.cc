#include "kusari/framework/functions/math/cumsum.h"

#include <algorithm>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("cumsum") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  check_close(F::cumsum(x), {6}, {1, 3, 6, 10, 15, 21});
  check_close(F::cumsum(x, 0), {2, 3}, {1, 2, 3, 5, 7, 9});
  check_close(F::cumsum(x, -1), {2, 3}, {1, 3, 6, 4, 9, 15});
  check_close(F::cumsum(x.transpose(), 0), {3, 2}, {1, 4, 3, 9, 6, 15});
  check_close(F::cumsum(zeros({0, 3}, Dtype::float32, test_device()), 0), {0, 3}, {});
  check_close(F::cumsum(zeros({2, 0}, Dtype::float32, test_device()), 1), {2, 0}, {});
  check_close(F::cumsum(full({}, 3, Dtype::float32, test_device())), {1}, {3});
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::cumsum(x.astype(dtype), 1);
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 3}, {1, 3, 6, 4, 9, 15});
  }
  check_gradients([](const Variable& v) { return F::cumsum(v, 1); }, uniform({2, 4, 3}, -1, 1));
  check_gradients([](const Variable& v) { return F::cumsum(v); }, uniform({2, 3}, -1, 1));
}

TEST_CASE("cumsum sums half types in float32") {
  const int64_t n = 3000;  // 2048 + 1 is 2048 in float16
  const std::vector<double> y = F::cumsum(ones({n}, Dtype::float16, test_device()), 0).to_vector<double>();
  CHECK(y.back() == 3000);
}

// Sums of small integers are exact, in whatever order and pieces they are added.
TEST_CASE("cumsum along axes of many lengths") {
  for (const Shape& shape :
       {Shape{1, 70001, 1}, Shape{3, 9001, 1}, Shape{37, 65, 1}, Shape{1, 8192, 1}, Shape{2, 5, 700}, Shape{1, 3, 67},
        Shape{4, 6, 9}, Shape{9, 1, 3}, Shape{1, 12289, 1}, Shape{5, 4096, 3}}) {
    CAPTURE(to_string(shape));
    for (const bool reverse : {false, true}) {
      std::vector<float> values(static_cast<size_t>(numel(shape)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(philox_word(7, i) % 8);
      const int64_t n = shape[1], inner = shape[2];
      std::vector<float> expected = values;
      for (int64_t row = 0; row < shape[0]; ++row) {
        for (int64_t j = 0; j < inner; ++j) {
          for (int64_t k = 1; k < n; ++k) {
            const int64_t i = reverse ? n - 1 - k : k, before = reverse ? i + 1 : i - 1;
            expected[static_cast<size_t>((row * n + i) * inner + j)] +=
                expected[static_cast<size_t>((row * n + before) * inner + j)];
          }
        }
      }
      const Variable x(array(values, shape, test_device()));
      const Variable y = F::cumsum(x, 1);
      // The gradient of a running sum runs from the end.
      const std::vector<float> result =
          reverse ? grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&x, 1)})[0].to_vector<float>()
                  : y.to_vector<float>();
      CHECK((result == expected));
    }
  }
}

TEST_CASE("cumsum of integers and bool is int64, as NumPy's") {
  const Array bytes = full({2, 3}, 200, Dtype::uint8, test_device());
  const Variable y = F::cumsum(bytes, 1);
  CHECK(y.dtype() == Dtype::int64);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(F::cumsum(bytes.at(0)).to_vector<int64_t>() == std::vector<int64_t>{200, 400, 600});
  CHECK(F::cumsum(bytes, 1).array().at(1).to_vector<int64_t>() == std::vector<int64_t>{200, 400, 600});
  // One long line, many lines side by side, and both of other dtypes.
  for (const Dtype dtype : {Dtype::bool_, Dtype::int8, Dtype::int32, Dtype::int64}) {
    CAPTURE(name(dtype));
    for (const Shape& shape : {Shape{20000}, Shape{5, 300}, Shape{0, 2}}) {
      CHECK((F::cumsum(ones(shape, dtype, test_device()), 0).to_vector<int64_t>() ==
             F::cumsum(ones(shape, Dtype::float64, test_device()), 0).to_vector<int64_t>()));
    }
  }
}

TEST_CASE("cumsum from the end, and without the element itself") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  check_close(F::cumsum(x, 1, {.exclusive = true}), {2, 3}, {0, 1, 3, 0, 4, 9});
  check_close(F::cumsum(x, 1, {.reverse = true}), {2, 3}, {6, 5, 3, 15, 11, 6});
  check_close(F::cumsum(x, 1, {.exclusive = true, .reverse = true}), {2, 3}, {5, 3, 0, 11, 6, 0});
  check_close(F::cumsum(x, 0, {.exclusive = true}), {2, 3}, {0, 0, 0, 1, 2, 3});
  check_close(F::cumsum(x, std::nullopt, {.exclusive = true}), {6}, {0, 1, 3, 6, 10, 15});
  check_close(F::cumsum(zeros({2, 0}, Dtype::float32, test_device()), 1, {.exclusive = true}), {2, 0}, {});
  const Variable y = F::cumsum(array<uint8_t>({200, 200, 1}, test_device()), 0, {.exclusive = true, .reverse = true});
  CHECK(y.dtype() == Dtype::int64);
  check_close(y, {3}, {201, 1, 0});
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      check_gradients([&](const Variable& v) { return F::cumsum(v, 1, {.exclusive = exclusive, .reverse = reverse}); },
                      uniform({2, 4, 3}, -1, 1));
    }
  }
}

TEST_CASE("cumsum of a long line whose pieces overflow by themselves") {
  std::vector<float> values(20000);
  values[0] = -3e38f;
  values[5000] = values[5001] = 2e38f;
  for (const bool reverse : {false, true}) {
    if (reverse) std::reverse(values.begin(), values.end());
    const std::vector<float> y = F::cumsum(array(values), 0, {.reverse = reverse}).to_vector<float>();
    CHECK(y[reverse ? 15000 : 4999] == -3e38f);
    CHECK(y[reverse ? 14999 : 5000] == -3e38f + 2e38f);
    CHECK(y[reverse ? 0 : 19999] == (-3e38f + 2e38f) + 2e38f);
  }
}

TEST_CASE("cumsum's errors") {
  CHECK_THROWS_AS(F::cumsum(ones({2}), 1), IndexError);
  CHECK_THROWS_AS(F::cumsum(ones({2}), -2), IndexError);
  CHECK_THROWS_AS(F::cumsum(ones({}), 0), IndexError);
  CHECK_THROWS_WITH_AS(F::cumsum(Variable()), "F::cumsum: x is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
