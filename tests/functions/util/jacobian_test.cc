#include "kusari/framework/functions/util/jacobian.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::jacobian_test {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("jacobian: the derivative of each element by each") {
  const Variable x(uniform({2, 3}, -1, 1, 1)), A(uniform({3, 4}, -1, 1, 2));
  const Variable y = F::matmul(F::exp(x), A);  // dy[i, j] / dx[k, l] = exp(x[i, l]) A[l, j] where i = k
  const Values e = F::exp(x).to_vector<double>(), a = A.to_vector<double>();
  Values by_x, by_a;
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      for (size_t k = 0; k < 2; ++k) {
        for (size_t l = 0; l < 3; ++l) by_x.push_back(i == k ? e[3 * i + l] * a[4 * l + j] : 0);
      }
      for (size_t k = 0; k < 3; ++k) {
        for (size_t l = 0; l < 4; ++l) by_a.push_back(j == l ? e[3 * i + k] : 0);
      }
    }
  }
  check_close(F::jacobian(y, x), {2, 4, 2, 3}, by_x);
  check_close(F::jacobian(y, A), {2, 4, 3, 4}, by_a);
  CHECK(!F::jacobian(y, x).requires_grad());
  CHECK(!x.grad().is_defined());
}

TEST_CASE("jacobian: without axes, without elements, of what does not depend") {
  const Variable x(uniform({3}, -1, 1)), s = F::sum(x * x);
  Values twice = x.to_vector<double>();
  for (double& number : twice) number *= 2;
  check_close(F::jacobian(s, x), {3}, twice);
  check_close(F::jacobian(x, x), {3, 3}, Values{1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Variable other(uniform({2, 1}, -1, 1).astype(Dtype::float32)), none(zeros({0}, Dtype::float64, test_device()));
  check_close(F::jacobian(x * 2, other), {3, 2, 1}, Values(6, 0.0));
  CHECK(F::jacobian(x, other).dtype() == Dtype::float32);
  CHECK(F::jacobian(none * 2, x).shape() == Shape{0, 3});
  CHECK(F::jacobian(x, none).shape() == Shape{3, 0});
  const Variable deep = F::reshape(x, {1, 1, 1, 1, 1, 1, 1, 3});
  check_close(F::jacobian(F::sum(deep), deep), deep.shape(), Values{1, 1, 1});
}

TEST_CASE("jacobian of the gradient: the Hessian, whose products come without it") {
  const Variable x(uniform({3}, -1, 1, 1)), v(uniform({3}, -1, 1, 2));
  // f = s^3 of the sum s: all second derivatives are 6 s.
  const Variable s = F::sum(x), f = s * s * s;
  const Variable gradient = F::jacobian(f, x, {.enable_double_backprop = true});
  double sum = 0, sum_v = 0;
  for (const double number : x.to_vector<double>()) sum += number;
  for (const double number : v.to_vector<double>()) sum_v += number;
  check_close(gradient, {3}, Values(3, 3 * sum * sum), 100);
  check_close(F::jacobian(gradient, x), {3, 3}, Values(9, 6 * sum), 100);
  const Variables product = F::hessian_vector_product(f, {&x, 1}, {&v, 1});
  check_close(product[0], {3}, Values(3, 6 * sum * sum_v), 100);
  CHECK(!product[0].requires_grad());
}

TEST_CASE("hessian_vector_product over several variables") {
  const Variable a(uniform({2}, -1, 1, 1)), b(uniform({2}, -1, 1, 2)), free(uniform({1}, -1, 1, 3));
  const Variable f = F::sum(a * a * b) + F::sum(b);
  const Variables xs{a, b, free},
      vs{Variable(uniform({2}, -1, 1, 4)), Variable(uniform({2}, -1, 1, 5)), Variable(uniform({1}, -1, 1, 6))};
  const Variables products = F::hessian_vector_product(f, xs, vs);
  const Values x = a.to_vector<double>(), y = b.to_vector<double>(), v = vs[0].to_vector<double>(),
               w = vs[1].to_vector<double>();
  Values by_a, by_b;
  for (size_t i = 0; i < 2; ++i) {
    by_a.push_back(2 * y[i] * v[i] + 2 * x[i] * w[i]);
    by_b.push_back(2 * x[i] * v[i]);
  }
  check_close(products[0], {2}, by_a);
  check_close(products[1], {2}, by_b);
  check_close(products[2], {1}, Values{0});
  // Linear in all.
  const Variable line = F::sum(a * 3);
  check_close(F::hessian_vector_product(line, {&a, 1}, {&vs[0], 1})[0], {2}, Values{0, 0});
}

TEST_CASE("what jacobian and hessian_vector_product refuse") {
  const Variable x(uniform({3}, -1, 1)), y = F::sum(x), wrong(uniform({2}, -1, 1)), n(int_ones({3}), false);
  CHECK_THROWS_WITH_AS(F::jacobian(n, x), doctest::Contains("F::jacobian: y has dtype int64"), TypeError);
  CHECK_THROWS_WITH_AS(F::jacobian(y, n), doctest::Contains("F::jacobian: x has dtype int64"), TypeError);
  const Variable five = F::reshape(x, {1, 1, 1, 1, 3});
  CHECK_THROWS_WITH_AS(
      F::jacobian(five, five),
      "F::jacobian: y has shape (1, 1, 1, 1, 3) and x (1, 1, 1, 1, 3): together they must have at most "
      "8 axes",
      ValueError);
  CHECK_THROWS_WITH_AS(F::hessian_vector_product(x, {&x, 1}, {&x, 1}),
                       "F::hessian_vector_product: y has shape (3,): it must have one element", ValueError);
  CHECK_THROWS_WITH_AS(F::hessian_vector_product(y, {&x, 1}, {}),
                       "F::hessian_vector_product: there are 0 vs and 1 xs: there must be as many", ValueError);
  CHECK_THROWS_WITH_AS(F::hessian_vector_product(y, {&x, 1}, {&wrong, 1}),
                       "F::hessian_vector_product: vs[0] is (2,), float64: it must be like xs[0], (3,), float64",
                       TypeError);
}

}  // namespace
}  // namespace kusari::jacobian_test
