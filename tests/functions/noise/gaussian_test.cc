#include "kusari/framework/functions/noise/gaussian.h"

#include "kusari/framework/core/random.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("gaussian draws from the distribution that it is given") {
  random::seed(3);
  for (const bool train : {true, false}) {  // alike
    const auto guard = using_config(&Config::train, train);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array mean = full({100, 100}, 2, dtype, test_device());
      const Array ln_var = full({100, 100}, std::log(0.25), dtype, test_device());
      Array eps;
      const Variable y = F::gaussian(mean, ln_var, {.return_eps = &eps});
      CHECK(y.dtype() == dtype);
      CHECK(eps.dtype() == dtype);
      double sum = 0, squares = 0;
      for (const double v : y.to_vector<double>()) {
        sum += v - 2;
        squares += (v - 2) * (v - 2);
      }
      CHECK(std::abs(sum / 1e4) < 0.02);  // four deviations of a mean of 10000
      CHECK(squares / 1e4 == doctest::Approx(0.25).epsilon(0.06));
      CHECK(F::gaussian(mean, ln_var, {.eps = eps}).to_vector<double>() == y.to_vector<double>());
    }
  }
}

TEST_CASE("gaussian with given numbers") {
  const Array eps = uniform({3, 2}, -2, 2, 3);
  const auto gaussian = [&](const Variable& mean, const Variable& ln_var) {
    return F::gaussian(mean, ln_var, {.eps = on_test_device(eps).astype(mean.dtype())});
  };
  const Array mean = uniform({3, 2}, -1, 1), ln_var = uniform({3, 2}, -1, 1, 2);
  const std::vector<double> m = mean.to_vector<double>(), l = ln_var.to_vector<double>(), e = eps.to_vector<double>();
  std::vector<double> expected;
  for (size_t i = 0; i < 6; ++i) expected.push_back(m[i] + std::exp(l[i] / 2) * e[i]);
  for (const Dtype dtype : kFloatingDtypes) {
    check_close(gaussian(mean.astype(dtype), ln_var.astype(dtype)), {3, 2}, expected, 4);
  }
  check_gradients(gaussian, mean, ln_var);
}

TEST_CASE("gaussian with wrong arguments") {
  const Variable x(ones({2}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(F::gaussian(x, ones({3}, Dtype::float32, test_device())),
                       "F::gaussian: mean has shape (2,) but ln_var has shape (3,): mean.shape must equal ln_var.shape",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::gaussian(x, x, {.eps = ones({3}, Dtype::float32, test_device())}),
                       "F::gaussian: eps has shape (3,) but ln_var has shape (2,): eps.shape must equal ln_var.shape",
                       TypeError);
  CHECK_THROWS_AS(F::gaussian(x, x, {.eps = ones({2}, Dtype::float64, test_device())}), TypeError);
  CHECK_THROWS_AS(F::gaussian(int_ones({2}), int_ones({2})), TypeError);
}

}  // namespace
}  // namespace kusari
