#include "kusari/framework/functions/loss/vae.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("losses of variational autoencoders") {
  const auto expected = [](auto&& formula, const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> values;
    for (size_t i = 0; i < a.size(); ++i) values.push_back(formula(a[i], b[i]));
    return values;
  };
  const Array x = uniform({2, 3}, 0, 1, 1), mean = uniform({2, 3}, -1, 1, 2), ln_var = uniform({2, 3}, -1, 1, 3);
  const std::vector<double> vx = x.to_vector<double>(), vm = mean.to_vector<double>(), vl = ln_var.to_vector<double>();
  const auto total = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double e : v) sum += e;
    return sum;
  };
  const auto kl = expected([](double m, double l) { return (m * m + std::exp(l) - l - 1) / 2; }, vm, vl);
  check_close(F::gaussian_kl_divergence(mean, ln_var, F::Reduce::no), {2, 3}, kl);
  check_close(F::gaussian_kl_divergence(mean, ln_var), {}, {total(kl)}, 10);
  check_close(F::gaussian_kl_divergence(mean, ln_var, F::Reduce::mean), {}, {total(kl) / 6}, 10);
  const auto bernoulli = expected(
      [](double a, double y) {
        const double p = 1 / (1 + std::exp(-y));
        return -a * std::log(p) - (1 - a) * std::log(1 - p);
      },
      vx, vm);
  check_close(F::bernoulli_nll(x, mean, F::Reduce::no), {2, 3}, bernoulli, 10);
  check_close(F::bernoulli_nll(x, mean), {}, {total(bernoulli)}, 10);
  std::vector<double> gaussian;
  for (size_t i = 0; i < 6; ++i) {
    const double d = vx[i] - vm[i], var = std::exp(vl[i]);
    gaussian.push_back(d * d / (2 * var) + std::log(2 * 3.14159265358979323846 * var) / 2);
  }
  check_close(F::gaussian_nll(x, mean, ln_var, F::Reduce::no), {2, 3}, gaussian, 10);
  check_close(F::gaussian_nll(x, mean, ln_var), {}, {total(gaussian)}, 10);
  check_gradients([](const Variable& m, const Variable& l) { return F::gaussian_kl_divergence(m, l); }, mean, ln_var);
  check_gradients([](const Variable& a, const Variable& y) { return F::bernoulli_nll(a, y); }, x, mean);
  check_gradients([](const Variable& a, const Variable& m, const Variable& l) { return F::gaussian_nll(a, m, l); }, x,
                  mean, ln_var);
  CHECK_THROWS_WITH_AS(
      F::bernoulli_nll(ones({2}), ones({3})),
      "F::bernoulli_nll: x has shape (2,) and dtype float32 but y has shape (3,) and dtype float32: they "
      "must be equal",
      TypeError);
}

}  // namespace
}  // namespace kusari
