#include "kusari/framework/functions/math/cumprod.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("cumprod") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  check_close(F::cumprod(x), {6}, {1, 2, 6, 24, 120, 720});
  check_close(F::cumprod(x, 0), {2, 3}, {1, 2, 3, 4, 10, 18});
  check_close(F::cumprod(x, -1), {2, 3}, {1, 2, 6, 4, 20, 120});
  check_close(F::cumprod(zeros({0, 3}, Dtype::float32, test_device()), 0), {0, 3}, {});
  check_close(F::cumprod(full({}, 3, Dtype::float32, test_device())), {1}, {3});
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::cumprod(x.astype(dtype), 1);
    CHECK(y.dtype() == dtype);
    check_close(y, {2, 3}, {1, 2, 6, 4, 20, 120});
  }
}

TEST_CASE("cumprod of a long line") {
  std::vector<double> values, expected;
  double product = 1;
  for (uint32_t i = 0; i < 20000; ++i) {
    values.push_back(philox_word(3, i) % 2 == 0 ? 0.5 : 2.0);  // powers of two: no rounding
    product *= values.back();
    expected.push_back(product);
  }
  CHECK((F::cumprod(array(values, test_device())).to_vector<double>() == expected));
}

TEST_CASE("cumprod of a long line stays zero where factors multiply to infinity") {
  for (const Dtype dtype : kFloatingDtypes) {
    std::vector<double> values(20000, 2.0);
    values[0] = 0;
    CHECK(F::cumprod(array(values, test_device()).astype(dtype)).to_vector<double>() ==
          std::vector<double>(20000, 0.0));
  }
}

TEST_CASE("cumprod's gradients") {
  check_gradients([](const Variable& v) { return F::cumprod(v, 1); }, uniform({2, 4, 3}, 0.5, 1.5));
  check_gradients([](const Variable& v) { return F::cumprod(v, -1); }, uniform({2, 4}, 0.5, 1.5));
  check_gradients([](const Variable& v) { return F::cumprod(v); }, uniform({2, 3}, 0.5, 1.5));
  check_gradients([](const Variable& v) { return F::cumprod(v, 0); }, uniform({1, 3}, 0.5, 1.5));
  check_gradients([](const Variable& v) { return F::cumprod(v, 0); }, uniform({0, 3}, 0.5, 1.5));
}

TEST_CASE("cumprod has gradients at zeros") {
  // y = (x0, x0 x1, x0 x1 x2, x0 x1 x2 x3): dS/dx0 = 1 + x1 + x1 x2 + x1 x2 x3, and so on.
  const Variable one(array<float>({2, 0, 3, 5}, test_device()));
  CHECK(gradient(F::cumprod(one, 0), one) == std::vector<double>{1, 2 + 6 + 30, 0, 0});
  const Variable two(array<float>({0, 2, 0, 5}, test_device()));
  CHECK(gradient(F::cumprod(two, 0), two) == std::vector<double>{1 + 2, 0, 0, 0});
  check_gradients([](const Variable& v) { return F::cumprod(v, 1); },
                  array<double>({2, 0, 3, 1, 0, 5, 0, 2, 1, 1, 2, 0}, {3, 4}, test_device()));
}

// The third derivative of x0 x1 x2 by each of them is 1.
TEST_CASE("cumprod can be differentiated again and again") {
  const Variable x(array<double>({2, 3, 4}, test_device()));
  const Array last = array<double>({0, 0, 1}, test_device()), middle = array<double>({0, 1, 0}, test_device()),
              first = array<double>({1, 0, 0}, test_device());
  const auto derivative = [&](const Variable& y, const Array& gy) {
    const Variable seed(gy, false);
    return grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = true})[0];
  };
  const Variable g = derivative(F::cumprod(x, 0), last);
  CHECK(g.to_vector<double>() == std::vector<double>{12, 8, 6});
  const Variable gg = derivative(g, middle);
  CHECK(gg.to_vector<double>() == std::vector<double>{4, 0, 2});
  CHECK(derivative(gg, first).to_vector<double>() == std::vector<double>{0, 0, 1});
}

TEST_CASE("cumprod of integers and bool is int64, as NumPy's") {
  const Array bytes = full({2, 3}, 200, Dtype::uint8, test_device());
  const Variable y = F::cumprod(bytes, 1);
  CHECK(y.dtype() == Dtype::int64);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(F::cumprod(bytes.at(0)).to_vector<int64_t>() == std::vector<int64_t>{200, 40000, 8000000});
  CHECK(F::cumprod(bytes, 1).array().at(1).to_vector<int64_t>() == std::vector<int64_t>{200, 40000, 8000000});
  // One long line, many lines side by side, and both of other dtypes.
  for (const Dtype dtype : {Dtype::bool_, Dtype::int8, Dtype::int32, Dtype::int64}) {
    CAPTURE(name(dtype));
    for (const Shape& shape : {Shape{20000}, Shape{5, 300}, Shape{0, 2}}) {
      CHECK((F::cumprod(ones(shape, dtype, test_device()), 0).to_vector<int64_t>() ==
             F::cumprod(ones(shape, Dtype::float64, test_device()), 0).to_vector<int64_t>()));
    }
  }
}

TEST_CASE("cumprod's errors") {
  CHECK_THROWS_AS(F::cumprod(ones({2}), 1), IndexError);
  CHECK_THROWS_WITH_AS(F::cumprod(Variable(), 0), "F::cumprod: x is not given: it is required", TypeError);
}

TEST_CASE("cumprod from the end, and without the element itself") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  check_close(F::cumprod(x, 1, {.exclusive = true}), {2, 3}, {1, 1, 2, 1, 4, 20});
  check_close(F::cumprod(x, 1, {.reverse = true}), {2, 3}, {6, 6, 3, 120, 30, 6});
  check_close(F::cumprod(x, 1, {.exclusive = true, .reverse = true}), {2, 3}, {6, 3, 1, 30, 6, 1});
  check_close(F::cumprod(x, std::nullopt, {.exclusive = true}), {6}, {1, 1, 2, 6, 24, 120});
  check_close(F::cumprod(zeros({0, 2}, Dtype::float32, test_device()), 0, {.exclusive = true}), {0, 2}, {});
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      check_gradients([&](const Variable& v) { return F::cumprod(v, 1, {.exclusive = exclusive, .reverse = reverse}); },
                      uniform({2, 4}, -1, 1));
    }
  }
}

}  // namespace
}  // namespace kusari
