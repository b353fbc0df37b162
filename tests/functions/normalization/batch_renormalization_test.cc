#include "kusari/framework/functions/normalization/batch_renormalization.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

F::BatchRenormalizationOptions options(const Array& mean, const Array& var) {
  return {.rmax = 1.3, .dmax = 0.4, .eps = 1e-3, .running_mean = mean, .running_var = var};
}

}  // namespace

TEST_CASE("batch_renormalization is its definition") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Shape shape{6, 3};
    const Array x = uniform(shape, -2, 3).astype(dtype), gamma = uniform({3}, 0.5, 1.5, 2),
                beta = uniform({3}, -1, 1, 3);
    const Array mean = array<double>({-1, 0.4, 2}, test_device()),
                var = array<double>({0.2, 2, 9}, test_device());  // r, d within and at their limits
    std::vector<double> expected(18);
    const std::vector<double> v = x.to_vector<double>(), g = gamma.to_vector<double>(), b = beta.to_vector<double>(),
                              m = mean.to_vector<double>(), s = var.to_vector<double>();
    for (size_t c = 0; c < 3; ++c) {
      double mu = 0, sigma = 0;
      for (size_t i = c; i < 18; i += 3) mu += v[i] / 6;
      for (size_t i = c; i < 18; i += 3) sigma += (v[i] - mu) * (v[i] - mu) / 6;
      const double sd = std::sqrt(sigma + 1e-3), running = std::sqrt(s[c] + 1e-3);
      const double r = std::clamp(sd / running, 1 / 1.3, 1.3), d = std::clamp((mu - m[c]) / running, -0.4, 0.4);
      for (size_t i = c; i < 18; i += 3) expected[i] = g[c] * ((v[i] - mu) / sd * r + d) + b[c];
    }
    check_close(F::batch_renormalization(x, gamma, beta, options(mean, var)), shape, expected, 4);
    CHECK(mean.to_vector<double>() == m);
  }
}

TEST_CASE("batch_renormalization: gradients and statistics") {
  const Array x = uniform({3, 4, 2, 2}, -2, 3), gamma = uniform({4}, 0.5, 1.5, 2), beta = uniform({4}, -1, 1, 3);
  SUBCASE("r and d are constants: without limits reached they cancel the batch's own statistics") {
    // With loose limits y = gamma (x - running_mean) / running_sd + beta, and yet the gradient is that of the batch.
    const Array mean = uniform({4}, -0.1, 0.1, 4), var = uniform({4}, 1.5, 2.5, 5);
    const F::BatchRenormalizationOptions loose{
        .rmax = 100, .dmax = 100, .eps = 1e-3, .running_mean = mean, .running_var = var};
    const Variable vx(x), y = F::batch_renormalization(vx, gamma, beta, loose);
    check_close(y, x.shape(),
                F::fixed_batch_normalization(x, gamma, beta, mean, var, {.eps = 1e-3}).to_vector<double>(), 100);
    for (const double g : gradient(y, vx)) CHECK(std::abs(g) < 1e-12);  // a constant gy changes the mean alone
  }
  SUBCASE("gradients at the limits, where r and d do not depend on x") {
    const Array mean = full({4}, 50, Dtype::float64, test_device()),
                var = full({4}, 1e-4, Dtype::float64, test_device());
    check_gradients([&](const Variable& a, const Variable& b,
                        const Variable& c) { return F::batch_renormalization(a, b, c, options(mean, var)); },
                    x, gamma, beta);
  }
  SUBCASE("statistics are updated where asked for") {
    const Array mean = zeros({4}, Dtype::float64, test_device()), var = ones({4}, Dtype::float64, test_device());
    const Array other_mean = zeros({4}, Dtype::float64, test_device()),
                other_var = ones({4}, Dtype::float64, test_device());
    F::BatchRenormalizationOptions o = options(mean, var);
    o.update_statistics = true;
    F::batch_renormalization(x, gamma, beta, o);
    F::batch_normalization(x, gamma, beta, {.running_mean = other_mean, .running_var = other_var});
    check_close(mean, {4}, other_mean.to_vector<double>());
    check_close(var, {4}, other_var.to_vector<double>());
  }
}

TEST_CASE("batch_renormalization: errors") {
  const Variable x(zeros({2, 3}, Dtype::float32, test_device()), false),
      c3(zeros({3}, Dtype::float32, test_device()), false), c4(zeros({4}, Dtype::float32, test_device()), false);
  const Array n3 = zeros({3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::batch_renormalization(x, c3, c3, {}),
                       "F::batch_renormalization: running_mean and running_var must be given", ValueError);
  CHECK_THROWS_WITH_AS(F::batch_renormalization(x, c3, c3, {.rmax = 0.5, .running_mean = n3, .running_var = n3}),
                       "F::batch_renormalization: rmax is 0.5: it must be at least 1", ValueError);
  CHECK_THROWS_AS(F::batch_renormalization(x, c3, c3, {.dmax = -1, .running_mean = n3, .running_var = n3}), ValueError);
  CHECK_THROWS_WITH_AS(
      F::batch_renormalization(x, c4, c4, {.running_mean = n3, .running_var = n3}),
      "F::batch_renormalization: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal "
      "x.shape[1] (4 != 3)",
      TypeError);
  CHECK_THROWS_AS(F::batch_renormalization(
                      x, c3, c3, {.running_mean = zeros({2}, Dtype::float32, test_device()), .running_var = n3}),
                  TypeError);
}
