#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

// Optimizers against loops over doubles that follow their papers.
namespace kusari::testing {

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

inline Array gradient_of_step(const Shape& shape, int t) {
  return uniform(shape, -1, 1, static_cast<uint64_t>(10 + t));
}

/// Steps 1 to 6; the gradients of step 3 are zero.
inline void set_gradients(Layers& model, int t, Dtype dtype) {
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

/// The steps of float64 parameters.
inline void check_steps(const Case& c, int steps = 6) {
  CAPTURE(c.name);
  Layers model;
  const std::unique_ptr<Optimizer> optimizer = c.make();
  optimizer->setup(model);
  CHECK(std::string(optimizer->name()) == c.name);
  Layer W(model.W.array()), b(model.b.array());
  for (int t = 1; t <= steps; ++t) {
    CAPTURE(t);
    set_gradients(model, t, Dtype::float64);
    c.step(W, model.W.grad().to_vector<double>(), t);
    c.step(b, model.b.grad().to_vector<double>(), t);
    optimizer->update();
    check_close(model.W.array(), {5, 3}, W.p);
    check_close(model.b.array(), {4}, b.p);
  }
}

/// The same with float32 copies of 16-bit parameters and a loss scale.
inline void check_steps_of_copies(const Case& c, int steps = 4) {
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
    for (int t = 1; t <= steps; ++t) {
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

/// Parameters may have hyperparameters of their own, and snapshots continue the run.
inline void check_resume(const Case& c, int steps = 3) {
  const ScratchDirectory dir;
  CAPTURE(c.name);
  Layers model;
  const std::unique_ptr<Optimizer> optimizer = c.make();
  optimizer->setup(model);
  model.b.update_rule().hyperparam().lr = 0;
  for (int t = 1; t <= steps; ++t) {
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
  set_gradients(model, steps + 1, Dtype::float64);
  set_gradients(other, steps + 1, Dtype::float64);
  optimizer->update();
  resumed->update();
  CHECK(other.W.to_vector<double>() == model.W.to_vector<double>());
  CHECK(optimizer->hyperparameter("lr") > 0);
}

}  // namespace kusari::testing
