#include "kusari/framework/functions/activation/swish.h"

#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("swish: the formula") {
  const Array x = uniform({2, 3, 4}, -4, 4);
  const auto formula = [](double v, double beta) { return v / (1 + std::exp(-beta * v)); };
  for (const double beta : {1.0, -0.5, 0.0}) {
    check_forward([&](const Variable& v) { return F::swish(v, full({}, beta, v.dtype(), test_device())); },
                  [&](double v) { return formula(v, beta); }, x);
  }
  const Array betas = uniform({3}, -1, 2, 2);
  const std::vector<double> v = x.to_vector<double>(), b = betas.to_vector<double>();
  std::vector<double> expected;
  for (size_t i = 0; i < v.size(); ++i) expected.push_back(formula(v[i], b[i / 4 % 3]));
  check_close(F::swish(x, betas), x.shape(), expected);
}

TEST_CASE("swish: derivatives, fused and composed") {
  const auto swish = [](const Variable& x, const Variable& beta) { return F::swish(x, beta); };
  const Array x = uniform({2, 3, 4}, -2, 2);
  for (const Shape& shape : {Shape{}, {3}, {3, 4}}) {
    check_gradients(swish, x, uniform(shape, -1, 1, 2));
    const Variable vx(x), beta(uniform(shape, -1, 1, 2));
    const Variable y = F::swish(vx, beta);
    const Variables fused = grad({y}, {vx, beta}, {}),
                    composed = grad({y}, {vx, beta}, {.enable_double_backprop = true});
    check_close(fused[0], x.shape(), composed[0].to_vector<double>());
    check_close(fused[1], shape, composed[1].to_vector<double>(), 10);
  }
}

TEST_CASE("swish: derivatives where squares are beyond the range of the dtype") {
  const Variable x(array<float>({1e20f, -1e20f, 2e19f, 1e30f}, test_device())),
      one(ones({}, Dtype::float32, test_device())), large(full({}, 1e30, Dtype::float32, test_device()));
  CHECK(gradient(F::swish(x, one), one) == std::vector<double>{0});
  check_close(array(gradient(F::swish(x, large), x)), {4}, {1, 0, 1, 1});
}

TEST_CASE("swish says what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::swish(zeros({2, 3}, Dtype::float32, test_device()), zeros({4}, Dtype::float32, test_device())),
      "F::swish: x has shape (2, 3) but beta has shape (4,): beta must have the sizes of x's axes "
      "from axis 1 on",
      ValueError);
  CHECK_THROWS_WITH_AS(F::swish(int_ones({2, 3}), int_ones({3})),
                       "F::swish: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
