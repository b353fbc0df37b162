#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/optimizers/lamb.h"
#include "kusari/optimizers/lars.h"
#include "kusari/tests/optimizers/l2_norm.h"
#include "kusari/tests/optimizers/naive_step.h"

namespace kusari::testing {
namespace {

/// Moments and their corrected quotient of torch.optim's documentation.
Values adam_direction(Layer& layer, const Values& g, int t, double eps) {
  Values direction;
  for (size_t i = 0; i < g.size(); ++i) {
    layer.m[i] = 0.9 * layer.m[i] + 0.1 * g[i];
    layer.v[i] = 0.999 * layer.v[i] + 0.001 * g[i] * g[i];
    const double m = layer.m[i] / (1 - std::pow(0.9, t)), v = layer.v[i] / (1 - std::pow(0.999, t));
    direction.push_back(m / (std::sqrt(v) + eps));
  }
  return direction;
}

Step decoupled_adamw(double lr, double decay) {
  return [=](Layer& layer, const Values& g, int t) {
    const Values direction = adam_direction(layer, g, t, 1e-8);
    for (size_t i = 0; i < g.size(); ++i) layer.p[i] = layer.p[i] * (1 - lr * decay) - lr * direction[i];
  };
}

Step lamb(double lr, double decay) {
  return [=](Layer& layer, const Values& g, int t) {
    Values r = adam_direction(layer, g, t, 1e-6);
    for (size_t i = 0; i < g.size(); ++i) r[i] += decay * layer.p[i];
    const double trust = l2_norm(layer.p) > 0 && l2_norm(r) > 0 ? l2_norm(layer.p) / l2_norm(r) : 1;
    for (size_t i = 0; i < g.size(); ++i) layer.p[i] -= lr * trust * r[i];
  };
}

Step lars(double lr, double decay, double trust_coefficient) {
  return [=](Layer& layer, const Values& g, int) {
    const double p = l2_norm(layer.p), own = l2_norm(g);
    const double trust = p > 0 && own > 0 ? trust_coefficient * p / (own + decay * p) : 1;
    for (size_t i = 0; i < g.size(); ++i) {
      layer.v[i] = 0.9 * layer.v[i] + lr * trust * (g[i] + decay * layer.p[i]);
      layer.p[i] -= layer.v[i];
    }
  };
}

const Case kCases[] = {
    {"DecoupledAdamW",
     [] {
       return std::make_unique<optimizers::DecoupledAdamW>(
           optimizers::DecoupledAdamWOptions{.lr = 0.05, .weight_decay_rate = 0.2});
     },
     decoupled_adamw(0.05, 0.2)},
    {"LAMB",
     [] { return std::make_unique<optimizers::LAMB>(optimizers::LAMBOptions{.lr = 0.05, .weight_decay_rate = 0.2}); },
     lamb(0.05, 0.2)},
    {"LARS",
     [] {
       return std::make_unique<optimizers::LARS>(
           optimizers::LARSOptions{.lr = 0.5, .weight_decay_rate = 0.2, .trust_coefficient = 0.1});
     },
     lars(0.5, 0.2, 0.1)},
};

TEST_CASE("DecoupledAdamW, LAMB and LARS follow their papers") {
  for (const Case& c : kCases) check_steps(c);
}

TEST_CASE("the same with float32 copies of 16-bit parameters and a loss scale") {
  for (const Case& c : kCases) check_steps_of_copies(c);
}

TEST_CASE("parameters may have hyperparameters of their own, and snapshots continue the run") {
  for (const Case& c : kCases) check_resume(c);
}

TEST_CASE("many large tensors, each with its own rate") {
  class Large : public Chain {
   public:
    Large()
        : a{*this, "a", uniform({300, 301}, -1, 1, 1)},
          b{*this, "b", uniform({70000}, -3, 3, 2)},
          c{*this, "c", uniform({2}, -1, 1, 3)} {}
    Parameter a, b, c;
  };
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    Large model;
    const std::unique_ptr<Optimizer> optimizer = c.make();
    optimizer->setup(model);
    std::vector<Layer> layers;
    for (Parameter* p : model.params()) layers.emplace_back(p->array());
    for (int t = 1; t <= 2; ++t) {
      for (Parameter* p : model.params()) p->set_grad(gradient_of_step(p->shape(), t));
      for (size_t i = 0; i < layers.size(); ++i) c.step(layers[i], model.params()[i]->grad().to_vector<double>(), t);
      optimizer->update();
    }
    for (size_t i = 0; i < layers.size(); ++i) {
      const Values values = model.params()[i]->to_vector<double>();
      double difference = 0;
      for (size_t k = 0; k < values.size(); ++k)
        difference = std::max(difference, std::abs(values[k] - layers[i].p[k]));
      CHECK(difference < 1e-12);
    }
  }
}

TEST_CASE("how Chainer's AdamW differs: its decay ignores the learning rate") {
  Layers model, other;
  optimizers::AdamW chainer({.alpha = 1e-3, .weight_decay_rate = 0.1});
  optimizers::DecoupledAdamW decoupled({.lr = 1e-3, .weight_decay_rate = 0.1});
  chainer.setup(model);
  decoupled.setup(other);
  const Values before = model.W.to_vector<double>();
  for (Layers* layers : {&model, &other}) {
    for (Parameter* p : layers->params()) p->set_grad(zeros(p->shape(), Dtype::float64, test_device()));
  }
  chainer.update();
  decoupled.update();
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(model.W.to_vector<double>()[i] == doctest::Approx(before[i] * 0.9));
    CHECK(other.W.to_vector<double>()[i] == doctest::Approx(before[i] * (1 - 1e-4)));
  }
}

}  // namespace
}  // namespace kusari::testing
