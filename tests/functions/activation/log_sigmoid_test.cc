#include "kusari/framework/functions/activation/log_sigmoid.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("log_sigmoid") {
  const auto log_sigmoid = [](const Variable& x) { return F::log_sigmoid(x); };
  const auto formula = [](double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); };
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
    const Array x = uniform(shape, -5, 5);
    check_forward(log_sigmoid, formula, x);
    check_gradients(log_sigmoid, x);
  }
}

TEST_CASE("log_sigmoid far from 0") {
  const Variable x(array<double>({-1000, 1000, 40, -INFINITY, INFINITY, NAN}));
  const Variable y = F::log_sigmoid(x);
  const std::vector<double> values = y.to_vector<double>();
  CHECK(values[0] == -1000);
  CHECK(values[1] == 0);
  CHECK(values[2] == doctest::Approx(-std::exp(-40.0)).epsilon(1e-12));
  CHECK(values[3] == -INFINITY);
  CHECK(values[4] == 0);
  CHECK(std::isnan(values[5]));
  const std::vector<double> slopes = gradient(y, x);
  CHECK(slopes[0] == 1);
  CHECK(slopes[1] == 0);
  CHECK(slopes[3] == 1);
  CHECK(slopes[4] == 0);
  CHECK(F::log_sigmoid(array<float>({-1e30F})).item<float>() == -1e30F);
}

TEST_CASE("log_sigmoid of what does not fit") {
  CHECK_THROWS_WITH_AS(F::log_sigmoid(int_ones({2})), "F::log_sigmoid: x has dtype int64: x.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::log_sigmoid(Variable()), "F::log_sigmoid: x is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
