#include "kusari/framework/functions/noise/gumbel_softmax.h"

#include <algorithm>

#include "kusari/framework/core/random.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("gumbel_softmax chooses with the given probabilities") {
  random::seed(5);
  const double probability[3] = {0.6, 0.3, 0.1};
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    std::vector<double> log_pi;
    for (int i = 0; i < 4000; ++i) {
      for (const double p : probability) log_pi.push_back(std::log(p));
    }
    const Variable x(array(log_pi, {4000, 3}, test_device()).astype(dtype));
    const Variable y = F::gumbel_softmax(x);
    CHECK(y.dtype() == dtype);
    const std::vector<double> values = y.to_vector<double>();
    double chosen[3] = {0, 0, 0};
    for (size_t i = 0; i < 4000; ++i) {
      const double *const row = &values[3 * i], sum = row[0] + row[1] + row[2];
      if (sum != doctest::Approx(1).epsilon(0.02)) FAIL_CHECK("row " << i << " sums to " << sum);
      chosen[std::max_element(row, row + 3) - row] += 1;
    }
    for (size_t c = 0; c < 3; ++c) {
      CHECK(chosen[c] / 4000 == doctest::Approx(probability[c]).scale(1).epsilon(0.032));  // four deviations
    }
  }
}

TEST_CASE("gumbel_softmax is the softmax of what it drew") {
  const Array log_pi = uniform({3, 4}, -2, 0), tau = array<double>({2}, test_device());
  const auto seeded = [](const auto& sample) {
    const random::LocalStream stream(7);
    return sample();
  };
  // A high temperature gives nearly equal parts, a low one nearly one choice.
  for (const double v : seeded([&] { return F::gumbel_softmax(log_pi, 1e6); }).to_vector<double>()) {
    CHECK(v == doctest::Approx(0.25).epsilon(1e-4));
  }
  for (const double v : seeded([&] { return F::gumbel_softmax(log_pi, 1e-4); }).to_vector<double>()) {
    CHECK(std::min(v, 1 - v) < 1e-6);
  }
  check_gradients([&](const Variable& x) { return seeded([&] { return F::gumbel_softmax(x, 0.7, 0); }); }, log_pi);
  check_gradients([&](const Variable& x, const Variable& t) { return seeded([&] { return F::gumbel_softmax(x, t); }); },
                  log_pi, tau);
  // 16-bit numbers would be infinite before the softmax.
  for (const double v : F::gumbel_softmax(full({1, 2}, 6e4, Dtype::float16, test_device())).to_vector<double>()) {
    CHECK(std::isfinite(v));
  }
  CHECK(F::gumbel_softmax(ones({}, Dtype::float32, test_device())).item<float>() == 1);
  CHECK(F::gumbel_softmax(zeros({0, 3}, Dtype::float32, test_device())).shape() == Shape{0, 3});
}

TEST_CASE("gumbel_softmax with wrong arguments") {
  CHECK_THROWS_WITH_AS(F::gumbel_softmax(int_ones({2, 2})),
                       "F::gumbel_softmax: log_pi has dtype int64: log_pi.dtype must be floating", TypeError);
  CHECK_THROWS_AS(F::gumbel_softmax(ones({2}, Dtype::float32, test_device())), IndexError);
}

}  // namespace
}  // namespace kusari
