#include "kusari/framework/functions/connection/linear.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

namespace F = functions;

Array numbers(const Shape& shape, double step) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 5 % 13) * step - 0.8;
  return array(values, shape);
}

TEST_CASE("linear is x W^T + b") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), W = array<float>({1, 0, -1, 2, 1, 0}, {2, 3});
  const Array b = array<float>({10, 20});
  CHECK(F::linear(x, W).to_vector<float>() == std::vector<float>{-2, 4, -2, 13});
  CHECK(F::linear(x, W, b).to_vector<float>() == std::vector<float>{8, 24, 8, 33});
}

TEST_CASE("linear flattens the axes that are no batch") {
  const Array x = numbers({2, 3, 4}, 0.1), b = numbers({5}, 0.2);
  const Array flat = F::linear(x, numbers({5, 12}, 0.3), b).array();
  CHECK(flat.shape() == Shape{2, 5});
  CHECK(flat.to_vector<double>() == F::linear(x.reshape({2, 12}), numbers({5, 12}, 0.3), b).to_vector<double>());
  const Array rows = F::linear(x, numbers({5, 4}, 0.3), b, {.n_batch_axes = 2}).array();
  CHECK(rows.shape() == Shape{2, 3, 5});
  CHECK(rows.to_vector<double>() == F::linear(x.reshape({6, 4}), numbers({5, 4}, 0.3), b).to_vector<double>());
  CHECK(F::linear(x, ones({5, 1}, Dtype::float64), b, {.n_batch_axes = 3}).shape() == Shape{2, 3, 4, 5});
  CHECK(F::linear(zeros({0, 3, 4}), zeros({5, 12})).shape() == Shape{0, 5});
}

TEST_CASE("linear's gradients") {
  const Array W = numbers({4, 6}, 0.25), b = numbers({4}, 0.5);
  for (const Shape& shape : {Shape{3, 6}, {1, 6}, {0, 6}, {2, 3, 2}}) {
    CAPTURE(to_string(shape));
    const auto linear = [](const Variable& x, const Variable& w, const Variable& c) { return F::linear(x, w, c); };
    CHECK_NOTHROW(gradient_check::check_backward(linear, {numbers(shape, 0.1), W, b}));
    CHECK_NOTHROW(gradient_check::check_double_backward(linear, {numbers(shape, 0.1), W, b}));
    const auto no_bias = [](const Variable& x, const Variable& w) { return F::linear(x, w); };
    CHECK_NOTHROW(gradient_check::check_backward(no_bias, {numbers(shape, 0.1), W}));
    CHECK_NOTHROW(gradient_check::check_double_backward(no_bias, {numbers(shape, 0.1), W}));
  }
  const auto two_axes = [](const Variable& x, const Variable& w, const Variable& c) {
    return F::linear(x, w, c, {.n_batch_axes = 2});
  };
  CHECK_NOTHROW(gradient_check::check_backward(two_axes, {numbers({2, 3, 6}, 0.1), W, b}));
}

TEST_CASE("linear's gradients are the same whether they are recorded or not") {
  const auto gradients = [](bool record) {
    const Variable x(numbers({3, 6}, 0.1)), W(numbers({4, 6}, 0.2)), b(numbers({4}, 0.3));
    Variable y = F::linear(x, W, b);
    y.set_grad(numbers({3, 4}, 0.4));
    y.backward({.enable_double_backprop = record});
    std::vector<double> all = x.grad().to_vector<double>();
    for (const Variable& v : {W, b}) {
      for (const double value : v.grad().to_vector<double>()) all.push_back(value);
    }
    return all;
  };
  CHECK(gradients(false) == gradients(true));
}

TEST_CASE("linear computes only the gradients that are wanted") {
  const Variable x(numbers({3, 6}, 0.1), false), W(numbers({4, 6}, 0.2)), b(numbers({4}, 0.3), false);
  Variable y = F::linear(x, W, b);
  y.set_grad(ones({3, 4}, Dtype::float64));
  y.backward();
  CHECK(W.grad().shape() == Shape{4, 6});
  CHECK_FALSE(x.grad().is_defined());
  CHECK_FALSE(b.grad().is_defined());
}

TEST_CASE("linear takes x and W of different dtypes and gives x's") {
  const Variable x(ones({2, 3}, Dtype::float16)), W(ones({4, 3})), b(ones({4}, Dtype::float16));
  Variable y = F::linear(x, W, b);
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.to_vector<float>() == std::vector<float>(8, 4.0f));
  y.set_grad(ones({2, 4}, Dtype::float16));
  y.backward();
  CHECK(x.grad().dtype() == Dtype::float16);
  CHECK(W.grad().dtype() == Dtype::float32);
  CHECK(b.grad().dtype() == Dtype::float16);
  CHECK(W.grad().to_vector<float>() == std::vector<float>(12, 2.0f));
  CHECK(x.grad().to_vector<float>() == std::vector<float>(6, 4.0f));
}

TEST_CASE("linear refuses what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::linear(ones({32, 784}), ones({10, 100})),
      "F::linear: x has shape (32, 784) but W has shape (10, 100): x.shape[1] must equal W.shape[1] (784 != 100)",
      TypeError);
  CHECK_THROWS_WITH_AS(F::linear(ones({2, 3}), ones({4, 3}), ones({5})),
                       "F::linear: b has shape (5,) but W has shape (4, 3): b.shape[0] must equal W.shape[0] (5 != 4)",
                       TypeError);
  CHECK_THROWS_AS(F::linear(ones({3}), ones({4, 3})), TypeError);
  CHECK_THROWS_AS(F::linear(ones({2, 3}, Dtype::int32), ones({4, 3})), TypeError);
  CHECK_THROWS_WITH_AS(
      F::linear(ones({2, 3}), ones({4, 3}), ones({4}, Dtype::float64)),
      "F::linear: b has dtype float64 but x has dtype float32: b.dtype must equal x.dtype (float64 != float32)",
      TypeError);
  CHECK_THROWS_WITH_AS(
      F::linear(ones({2, 3}, Dtype::bfloat16), ones({4, 3}), ones({4})),
      "F::linear: x has dtype bfloat16 but W has dtype float32: x.dtype must equal W.dtype (bfloat16 != float32)",
      TypeError);
  CHECK_THROWS_WITH_AS(
      F::linear(ones({2, 3}, Dtype::bfloat16), ones({4, 3}), ones({4}, Dtype::float16)),
      "F::linear: b has dtype float16 but x has dtype bfloat16: b.dtype must equal x.dtype (float16 != bfloat16)",
      TypeError);
  CHECK_THROWS_AS(F::linear(ones({2, 3}), ones({4, 3}), Variable(), {.n_batch_axes = 0}), ValueError);
  CHECK_THROWS_AS(F::linear(ones({2, 3}), ones({4, 3}), Variable(), {.n_batch_axes = 3}), ValueError);
}

}  // namespace
}  // namespace kusari
