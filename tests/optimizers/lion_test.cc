#include "kusari/optimizers/lion.h"

#include <cmath>
#include <memory>

#include <doctest/doctest.h>

#include "kusari/tests/optimizers/naive_step.h"

namespace kusari::testing {
namespace {

// Algorithm 2 of the paper.
void lion_step(Layer& layer, const Values& g, int) {
  for (size_t i = 0; i < g.size(); ++i) {
    const double c = 0.8 * layer.m[i] + 0.2 * g[i];
    layer.p[i] -= 0.05 * ((c > 0 ? 1 : c < 0 ? -1 : 0) + 0.2 * layer.p[i]);
    layer.m[i] = 0.95 * layer.m[i] + 0.05 * g[i];
  }
}

const Case kLion = {"Lion",
                    [] {
                      return std::make_unique<optimizers::Lion>(
                          optimizers::LionOptions{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .weight_decay_rate = 0.2});
                    },
                    lion_step};

TEST_CASE("Lion follows its paper") { check_steps(kLion, 20); }

TEST_CASE("Lion with float32 copies of 16-bit parameters and a loss scale") { check_steps_of_copies(kLion); }

TEST_CASE("Lion: hyperparameters of a parameter's own, and snapshots") { check_resume(kLion); }

TEST_CASE("Lion rests where there is no momentum, and shows a gradient that is NaN") {
  Layers model;
  optimizers::Lion optimizer(0.5);
  optimizer.setup(model);
  const Values before = model.W.to_vector<double>();
  model.W.set_grad(zeros({5, 3}, Dtype::float64, test_device()));
  model.b.set_grad(on_test_device(array<double>({1, 0, std::nan(""), -1})));
  optimizer.update();
  CHECK(model.W.to_vector<double>() == before);
  check_close(model.b.array(), {4}, {-0.5, 0, std::nan(""), 0.5});
}

}  // namespace
}  // namespace kusari::testing
