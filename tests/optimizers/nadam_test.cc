#include "kusari/optimizers/nadam.h"

#include <cmath>
#include <memory>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/tests/optimizers/naive_step.h"

namespace kusari::testing {
namespace {

double mu_of(double beta1, double decay, int t) { return beta1 * (1 - 0.5 * std::pow(0.96, t * decay)); }

double naive_product(double beta1, double decay, int t) {
  double product = 1;
  for (int i = 1; i <= t; ++i) product *= mu_of(beta1, decay, i);
  return product;
}

// As the documentation of torch.optim.NAdam has it.
Step nadam_step(double momentum_decay) {
  return [=](Layer& layer, const Values& g, int t) {
    const double lr = 0.05, beta1 = 0.8, beta2 = 0.99, eps = 1e-3;
    const double mu = mu_of(beta1, momentum_decay, t), next = mu_of(beta1, momentum_decay, t + 1);
    const double product = naive_product(beta1, momentum_decay, t);
    for (size_t i = 0; i < g.size(); ++i) {
      layer.p[i] -= lr * 0.2 * layer.p[i];
      layer.m[i] = beta1 * layer.m[i] + (1 - beta1) * g[i];
      layer.v[i] = beta2 * layer.v[i] + (1 - beta2) * g[i] * g[i];
      const double m = next * layer.m[i] / (1 - product * next) + (1 - mu) * g[i] / (1 - product);
      layer.p[i] -= lr * m / (std::sqrt(layer.v[i] / (1 - std::pow(beta2, t))) + eps);
    }
  };
}

Case nadam(double momentum_decay) {
  return {"NAdam",
          [=] {
            return std::make_unique<optimizers::NAdam>(optimizers::NAdamOptions{.lr = 0.05,
                                                                                .beta1 = 0.8,
                                                                                .beta2 = 0.99,
                                                                                .eps = 1e-3,
                                                                                .weight_decay_rate = 0.2,
                                                                                .momentum_decay = momentum_decay});
          },
          nadam_step(momentum_decay)};
}

TEST_CASE("NAdam follows its formulas") {
  for (const double momentum_decay : {4e-3, 0.0, 20.0}) {
    CAPTURE(momentum_decay);
    check_steps(nadam(momentum_decay), 20);
  }
}

TEST_CASE("NAdam with float32 copies of 16-bit parameters and a loss scale") { check_steps_of_copies(nadam(4e-3)); }

TEST_CASE("NAdam: hyperparameters of a parameter's own, and snapshots") { check_resume(nadam(4e-3)); }

TEST_CASE("NAdam: the product of all momenta is that of a loop") {
  for (const double beta1 : {0.0, 0.5, 0.9, 0.99999}) {
    for (const double decay : {0.0, 4e-3, 0.35, 1.0, 50.0, 1e6}) {
      const kernels::NAdamSchedule schedule{1e-3, beta1, 0.999, 1e-8, 0, decay};
      for (const int t : {1, 2, 30, 400, 5000, 100000}) {
        CAPTURE(beta1);
        CAPTURE(decay);
        CAPTURE(t);
        CHECK(std::abs(schedule.product(t) - naive_product(beta1, decay, t)) < 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace kusari::testing
