#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/optimizers/lamb.h"
#include "kusari/optimizers/lars.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/optimizers/l2_norm.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using Values = std::vector<double>;

/// A matrix and a vector, of which the second starts at zero.
class Layers : public Chain {
 public:
  explicit Layers(Dtype dtype = Dtype::float64)
      : W{*this, "W", uniform({5, 3}, -1, 1, 3).astype(dtype)}, b{*this, "b", zeros({4}, dtype, test_device())} {}
  Parameter W, b;
};

/// What a step does to the elements of one parameter.
struct Layer {
  Values p, m, v;
  explicit Layer(const Array& array) : p{array.to_vector<double>()}, m(p.size()), v(p.size()) {}
};
using Step = std::function<void(Layer& layer, const Values& g, int t)>;

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

Array gradient_of_step(const Shape& shape, int t) { return uniform(shape, -1, 1, static_cast<uint64_t>(10 + t)); }

/// Steps 1 to 6; the gradients of step 3 are zero.
void set_gradients(Layers& model, int t, Dtype dtype) {
  for (Parameter* p : model.params()) {
    const Array g = t == 3 ? zeros(p->shape(), Dtype::float64, test_device()) : gradient_of_step(p->shape(), t);
    p->set_grad(g.astype(dtype));
  }
}

struct Case {
  const char* name;
  std::function<std::unique_ptr<Optimizer>()> make;
  Step step;
};

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
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    Layers model;
    const std::unique_ptr<Optimizer> optimizer = c.make();
    optimizer->setup(model);
    CHECK(std::string(optimizer->name()) == c.name);
    Layer W(model.W.array()), b(model.b.array());
    for (int t = 1; t <= 6; ++t) {
      set_gradients(model, t, Dtype::float64);
      c.step(W, model.W.grad().to_vector<double>(), t);
      c.step(b, model.b.grad().to_vector<double>(), t);
      optimizer->update();
      check_close(model.W.array(), {5, 3}, W.p);
      check_close(model.b.array(), {4}, b.p);
    }
  }
}

TEST_CASE("the same with float32 copies of 16-bit parameters and a loss scale") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    for (const bool dynamic : {false, true}) {
      CAPTURE(dynamic);
      Layers model(Dtype::float16);
      const std::unique_ptr<Optimizer> optimizer = c.make();
      optimizer->setup(model);
      optimizer->use_fp32_update();
      if (dynamic) {
        optimizer->loss_scaling({.initial_scale = 8});
      } else {
        optimizer->loss_scaling({.scale = 8});
      }
      Layer W(model.W.array()), b(model.b.array());
      for (int t = 1; t <= 4; ++t) {
        const Array factor_w = gradient_of_step({5, 3}, t).astype(Dtype::float16),
                    factor_b = gradient_of_step({4}, t).astype(Dtype::float16);
        c.step(W, factor_w.to_vector<double>(), t);
        c.step(b, factor_b.to_vector<double>(), t);
        optimizer->update([&] { return functions::sum(model.W * factor_w) + functions::sum(model.b * factor_b); });
      }
      CHECK(optimizer->skipped_steps() == 0);
      for (size_t i = 0; i < W.p.size(); ++i) {
        CHECK(model.W.to_vector<double>()[i] == doctest::Approx(W.p[i]).epsilon(2e-3).scale(1));
      }
      for (size_t i = 0; i < b.p.size(); ++i) {
        CHECK(model.b.to_vector<double>()[i] == doctest::Approx(b.p[i]).epsilon(2e-3).scale(1));
      }
    }
  }
}

TEST_CASE("parameters may have hyperparameters of their own, and snapshots continue the run") {
  const ScratchDirectory dir;
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    Layers model;
    const std::unique_ptr<Optimizer> optimizer = c.make();
    optimizer->setup(model);
    model.b.update_rule().hyperparam().lr = 0;
    for (int t = 1; t <= 3; ++t) {
      set_gradients(model, t, Dtype::float64);
      optimizer->update();
    }
    check_close(model.b.array(), {4}, Values(4, 0.0));
    serializers::save_npz(dir / "model.npz", model);
    serializers::save_npz(dir / "optimizer.npz", *optimizer);
    Layers other;
    const std::unique_ptr<Optimizer> resumed = c.make();
    resumed->setup(other);
    serializers::load_npz(dir / "model.npz", other);
    serializers::load_npz(dir / "optimizer.npz", *resumed);
    other.b.update_rule().hyperparam().lr = 0;
    set_gradients(model, 4, Dtype::float64);
    set_gradients(other, 4, Dtype::float64);
    optimizer->update();
    resumed->update();
    CHECK(other.W.to_vector<double>() == model.W.to_vector<double>());
    CHECK(optimizer->hyperparameter("lr") > 0);
  }
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
