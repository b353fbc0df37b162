#include "kusari/framework/functions/math/matmul.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

namespace F = functions;

Array numbers(const Shape& shape, double step) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 11) * step - 0.5;
  return array(values, shape);
}

TEST_CASE("matmul multiplies matrices and vectors as NumPy does") {
  const Array a = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = array<float>({1, 0, 2, 1, 0, 3}, {3, 2});
  CHECK(F::matmul(a, b).to_vector<float>() == std::vector<float>{5, 11, 14, 23});
  CHECK(F::matmul(a, a, {.transb = true}).to_vector<float>() == std::vector<float>{14, 32, 32, 77});
  CHECK(F::matmul(a, a, {.transa = true}).to_vector<float>() == std::vector<float>{17, 22, 27, 22, 29, 36, 27, 36, 45});
  const Array v = array<float>({1, -1, 2});
  CHECK(F::matmul(a, v).shape() == Shape{2});
  CHECK(F::matmul(a, v).to_vector<float>() == std::vector<float>{5, 11});
  CHECK(F::matmul(v, b, {.transa = true}).to_vector<float>() == std::vector<float>{-1, 5});
  CHECK(F::matmul(v, v).shape() == Shape{});
  CHECK(F::matmul(v, v).item<float>() == 6);
  CHECK(F::matmul(ones({2, 4, 3}), v).shape() == Shape{2, 4});
  CHECK(F::matmul(v, ones({5, 2, 3, 4})).shape() == Shape{5, 2, 4});
  CHECK(F::matmul(ones({5, 1, 3, 4}), ones({2, 4, 6})).shape() == Shape{5, 2, 3, 6});
}

TEST_CASE("matmul's dtype") {
  const Array half = ones({2, 2}, Dtype::float16), single = ones({2, 2});
  CHECK(F::matmul(half, half).dtype() == Dtype::float16);
  CHECK(F::matmul(half, single).dtype() == Dtype::float32);
  CHECK(F::matmul(single, ones({2, 2}, Dtype::float64)).dtype() == Dtype::float64);
  CHECK(F::matmul(half, half, {.dtype = Dtype::float32}).dtype() == Dtype::float32);
  const Array ints = array<int32_t>({1, 2, 3, 4}, {2, 2});
  CHECK(F::matmul(ints, ints).to_vector<int32_t>() == std::vector<int32_t>{7, 10, 15, 22});
}

TEST_CASE("matmul's gradients") {
  struct Case {
    Shape a, b;
    F::MatmulOptions options;
  };
  for (const Case& c : {Case{{2, 3}, {3, 4}, {}},
                        {{3, 2}, {3, 4}, {.transa = true}},
                        {{2, 3}, {4, 3}, {.transb = true}},
                        {{3, 2}, {4, 3}, {.transa = true, .transb = true}},
                        {{3}, {3}, {}},
                        {{2, 3}, {3}, {}},
                        {{3}, {3, 2}, {}},
                        {{2, 1, 2, 3}, {4, 3, 2}, {}},
                        {{2, 3, 2}, {3, 2}, {.transa = true}},
                        {{2, 3}, {4, 2, 3}, {.transb = true}},
                        {{0, 3}, {3, 2}, {}}}) {
    CAPTURE(to_string(c.a));
    CAPTURE(to_string(c.b));
    const auto matmul = [&](const Variable& a, const Variable& b) { return F::matmul(a, b, c.options); };
    CHECK_NOTHROW(gradient_check::check_backward(matmul, {numbers(c.a, 0.3), numbers(c.b, 0.2)}));
    CHECK_NOTHROW(gradient_check::check_double_backward(matmul, {numbers(c.a, 0.3), numbers(c.b, 0.2)}));
  }
}

TEST_CASE("matmul's gradients have their inputs' dtypes") {
  const Variable a(ones({2, 3}, Dtype::float16)), b(ones({3, 2}));
  const Variable y = F::matmul(a, b);
  Variable(y).set_grad(ones({2, 2}));
  y.backward();
  CHECK(a.grad().dtype() == Dtype::float16);
  CHECK(b.grad().dtype() == Dtype::float32);
  CHECK(b.grad().to_vector<float>() == std::vector<float>(6, 2.0f));
}

TEST_CASE("matmul refuses what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::matmul(ones({2, 3}), ones({4, 5})),
      "F::matmul: a has shape (2, 3) but b has shape (4, 5): a.shape[-1] must equal b.shape[-2] (3 != 4)", TypeError);
  CHECK_THROWS_WITH_AS(
      F::matmul(ones({2, 3}), ones({3, 5}), {.transa = true}),
      "F::matmul: a has shape (2, 3) but b has shape (3, 5): a.shape[-2] must equal b.shape[-2] (2 != 3)", TypeError);
  CHECK_THROWS_AS(F::matmul(ones({2, 2, 3}), ones({4, 3, 5})), TypeError);
  CHECK_THROWS_AS(F::matmul(ones({}), ones({3})), TypeError);
}

}  // namespace
}  // namespace kusari
