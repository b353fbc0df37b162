#include "kusari/optimizers/radam.h"

#include <cmath>
#include <memory>

#include <doctest/doctest.h>

#include "kusari/tests/optimizers/naive_step.h"

namespace kusari::testing {
namespace {

// As the documentation of torch.optim.RAdam has it.
Step radam_step(double beta2) {
  return [=](Layer& layer, const Values& g, int t) {
    const double lr = 0.05, beta1 = 0.8, eps = 1e-3, most = 2 / (1 - beta2) - 1;
    const double rho = most - 2 * t * std::pow(beta2, t) / (1 - std::pow(beta2, t));
    for (size_t i = 0; i < g.size(); ++i) {
      layer.p[i] -= lr * 0.2 * layer.p[i];
      layer.m[i] = beta1 * layer.m[i] + (1 - beta1) * g[i];
      layer.v[i] = beta2 * layer.v[i] + (1 - beta2) * g[i] * g[i];
      const double m = layer.m[i] / (1 - std::pow(beta1, t));
      if (rho > 5) {
        const double l = std::sqrt(1 - std::pow(beta2, t)) / (std::sqrt(layer.v[i]) + eps);
        const double r = std::sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho));
        layer.p[i] -= lr * m * r * l;
      } else {
        layer.p[i] -= lr * m;
      }
    }
  };
}

Case radam(double beta2) {
  return {"RAdam",
          [=] {
            return std::make_unique<optimizers::RAdam>(optimizers::RAdamOptions{
                .lr = 0.05, .beta1 = 0.8, .beta2 = beta2, .eps = 1e-3, .weight_decay_rate = 0.2});
          },
          radam_step(beta2)};
}

// With beta2 = 0.999 step 6 is the first that divides; with 0.5 none does, because rho stays below 3.
TEST_CASE("RAdam follows its formulas before and after the second moment counts") {
  for (const double beta2 : {0.999, 0.9, 0.5, 0.0}) {
    CAPTURE(beta2);
    check_steps(radam(beta2), 20);
  }
}

TEST_CASE("RAdam with float32 copies of 16-bit parameters and a loss scale") { check_steps_of_copies(radam(0.999), 8); }

TEST_CASE("RAdam: hyperparameters of a parameter's own, and snapshots") {
  check_resume(radam(0.999), 3);
  check_resume(radam(0.999), 6);
}

}  // namespace
}  // namespace kusari::testing
