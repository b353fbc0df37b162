#include "kusari/optimizers/composed_optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/install/user_optimizers.h"
#include "kusari/tests/optimizers/l2_norm.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::composed_optimizer_test {
namespace {

using namespace testing;

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Layers : public Chain {
 public:
  explicit Layers(Dtype dtype = Dtype::float64)
      : W{*this, "W", uniform({5, 3}, -1, 1, 3).astype(dtype)}, b{*this, "b", uniform({4}, -1, 1, 4).astype(dtype)} {}
  Parameter W, b;
};

void set_gradients(Layers& model, int t, double factor = 1) {
  for (Parameter* parameter : model.params()) {
    const Array drawn = uniform(parameter->shape(), -1, 1, static_cast<uint64_t>(10 + t)) * factor;
    parameter->set_grad(drawn.astype(parameter->dtype()));
  }
}

void step(Optimizer& optimizer, Layers& model, int t) {
  set_gradients(model, t);
  optimizer.update();
}

Values all_values(const Layers& model) {
  Values all = model.W.array().to_vector<double>();
  for (const double value : model.b.array().to_vector<double>()) all.push_back(value);
  return all;
}

void check_close(const Values& found, const Values& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(tolerance));
}

/// Adam, as a user would write it.
class OwnAdam : public ComposedOptimizer {
 public:
  double alpha = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  OwnAdam() : ComposedOptimizer("OwnAdam", {"m", "v"}) {}

 private:
  std::vector<Field> fields() override {
    return {{"alpha", &alpha}, {"beta1", &beta1}, {"beta2", &beta2}, {"eps", &eps, Range::not_negative}};
  }
  void update_core(ParameterStep& step) const override {
    const StepNumber beta1_t = step["beta1"], beta2_t = step["beta2"], t = step.t();
    const Array m = step.state("m") + (1 - beta1_t) * (step.gradient() - step.state("m"));
    const Array v = step.state("v") + (1 - beta2_t) * (xp::square(step.gradient()) - step.state("v"));
    const StepNumber rate = step["alpha"] * xp::sqrt(1 - xp::pow(beta2_t, t)) / (1 - xp::pow(beta1_t, t));
    step.set_parameter(step.parameter() - rate * m / (xp::sqrt(v) + step["eps"]));
    step.set_state("m", m);
    step.set_state("v", v);
  }
};

/// Does what a test says.
class Scripted : public ComposedOptimizer {
 public:
  std::function<void(ParameterStep&)> script;
  explicit Scripted(std::function<void(ParameterStep&)> script_of_step, std::vector<std::string> states = {"m"})
      : ComposedOptimizer("Scripted", std::move(states)), script{std::move(script_of_step)} {}

 private:
  std::vector<Field> fields() override { return {{"lr", &lr_}}; }
  double initial_value(const std::string& state) const override { return state == "m" ? 2 : 0; }
  void update_core(ParameterStep& step) const override { script(step); }
  double lr_ = 0.5;
};

struct AdafactorReference {
  Values row = Values(5), column = Values(3), v = Values(4);

  static double rms(const Values& values) { return l2_norm(values) / std::sqrt(static_cast<double>(values.size())); }
  static void move(Values& p, const Values& g, const Values& squares, int t) {
    Values u;
    for (size_t i = 0; i < g.size(); ++i) u.push_back(g[i] / std::sqrt(squares[i]));
    const double rate = std::min(0.01, 1 / std::sqrt(t)) * std::max(rms(p), 1e-3) / std::max(rms(u), 1.0);
    for (size_t i = 0; i < p.size(); ++i) p[i] -= rate * u[i];
  }
  void matrix(Values& p, const Values& g, int t) {
    const double beta = 1 - std::pow(t, -0.8);
    for (size_t i = 0; i < 5; ++i) {
      double mean = 0;
      for (size_t j = 0; j < 3; ++j) mean += (g[i * 3 + j] * g[i * 3 + j] + 1e-30) / 3;
      row[i] = beta * row[i] + (1 - beta) * mean;
    }
    for (size_t j = 0; j < 3; ++j) {
      double mean = 0;
      for (size_t i = 0; i < 5; ++i) mean += (g[i * 3 + j] * g[i * 3 + j] + 1e-30) / 5;
      column[j] = beta * column[j] + (1 - beta) * mean;
    }
    double mean_row = 0;
    for (const double r : row) mean_row += r / 5;
    Values squares;
    for (size_t i = 0; i < 15; ++i) squares.push_back(row[i / 3] / mean_row * column[i % 3]);
    move(p, g, squares, t);
  }
  void vector(Values& p, const Values& g, int t) {
    const double beta = 1 - std::pow(t, -0.8);
    for (size_t i = 0; i < 4; ++i) v[i] = beta * v[i] + (1 - beta) * (g[i] * g[i] + 1e-30);
    move(p, g, v, t);
  }
};

}  // namespace

TEST_CASE("a user's Adam steps as the built-in one") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    Layers model(dtype), other(dtype);
    OwnAdam own;
    optimizers::Adam adam({.alpha = 0.01});
    own.setup(model);
    adam.setup(other);
    for (int t = 1; t <= 20; ++t) {
      step(own, model, t);
      step(adam, other, t);
    }
    check_close(all_values(model), all_values(other), dtype == Dtype::float64 ? 1e-12 : 1e-5);
    CHECK(own.t() == 20);
    CHECK(model.W.update_rule().t() == 20);
    CHECK(model.W.update_rule().state("v").shape() == Shape{5, 3});
  }
}

TEST_CASE("Lion and Adafactor step as their papers say") {
  Layers model, factored;
  user::Lion lion;
  lion.lr = 0.01;
  lion.weight_decay_rate = 0.1;
  lion.setup(model);
  user::Adafactor adafactor;
  adafactor.setup(factored);
  Values p = all_values(model), m(p.size());
  Values W = factored.W.array().to_vector<double>(), b = factored.b.array().to_vector<double>();
  AdafactorReference reference;
  for (int t = 1; t <= 10; ++t) {
    set_gradients(model, t);
    const Values g_W = model.W.grad().to_vector<double>(), g_b = model.b.grad().to_vector<double>();
    Values g = g_W;
    g.insert(g.end(), g_b.begin(), g_b.end());
    for (size_t i = 0; i < p.size(); ++i) {
      const double c = 0.9 * m[i] + 0.1 * g[i];
      p[i] -= 0.01 * ((c > 0) - (c < 0) + 0.1 * p[i]);
      m[i] = 0.99 * m[i] + 0.01 * g[i];
    }
    lion.update();
    step(adafactor, factored, t);
    reference.matrix(W, g_W, t);
    reference.vector(b, g_b, t);
  }
  check_close(all_values(model), p, 1e-12);
  check_close(factored.W.array().to_vector<double>(), W, 1e-12);
  check_close(factored.b.array().to_vector<double>(), b, 1e-12);
  CHECK(factored.W.update_rule().state("row").shape() == Shape{5, 1});
  CHECK(factored.W.update_rule().state("column").shape() == Shape{1, 3});
  CHECK(factored.W.update_rule().state("v").shape() == Shape{0});
}

TEST_CASE("Adafactor leaves what never gets a gradient as it is, in float32") {
  Layers model(Dtype::float32);
  const Values before = all_values(model);
  user::Adafactor adafactor;
  adafactor.setup(model);
  for (int t = 1; t <= 3; ++t) {
    Array gradient = zeros({5, 3}, Dtype::float32, test_device());  // of W a row and a column stay 0
    xp::at(gradient, Slice{0, 4}, Slice{0, 2}) =
        uniform({4, 2}, -1, 1, static_cast<uint64_t>(t)).astype(Dtype::float32);
    model.W.set_grad(gradient);
    model.b.set_grad(zeros({4}, Dtype::float32, test_device()));
    adafactor.update();
  }
  const Values after = all_values(model);
  for (size_t i = 0; i < after.size(); ++i) {
    CAPTURE(i);
    CHECK((after[i] != before[i]) == (i < 12 && i % 3 != 2));
    CHECK(std::isfinite(after[i]));
  }
}

TEST_CASE("a user's optimizer is saved and resumed to the same bits") {
  const ScratchDirectory dir;
  const std::string path = dir / "optimizer.npz", model_path = dir / "model.npz";
  for (const bool is_half : {false, true}) {
    const Dtype dtype = is_half ? Dtype::float16 : Dtype::float32;
    Layers model(dtype), resumed(dtype);
    user::Adafactor first, second;
    first.setup(model);
    second.setup(resumed);
    if (is_half) first.use_fp32_update(), second.use_fp32_update();
    model.b.update_rule().hyperparam()["smallest"] = 0.25;
    for (int t = 1; t <= 5; ++t) step(first, model, t);
    first.lr = 0.02;
    serializers::save_npz(path, first);
    serializers::save_npz(model_path, model);
    serializers::load_npz(path, second);
    serializers::load_npz(model_path, resumed);
    CHECK(second.lr == 0.02);
    CHECK(resumed.b.update_rule().hyperparam()["smallest"] == 0.25);
    for (int t = 6; t <= 9; ++t) {
      step(first, model, t);
      step(second, resumed, t);
    }
    CHECK(all_values(model) == all_values(resumed));
    CHECK(second.t() == 9);
  }
}

TEST_CASE("a file's state must have the shape that a user's optimizer gives it") {
  Layers model;
  user::Adafactor optimizer;
  optimizer.setup(model);
  step(optimizer, model, 1);
  serializers::DictionarySerializer all;
  optimizer.serialize(all);
  serializers::Dictionary entries = serializers::copied(all.dictionary());
  for (auto& [name, entry] : entries) {
    if (name == "W/row") entry = {zeros({5, 3})};
  }
  const ScratchDirectory dir;
  serializers::save_npz_dictionary(dir / "o.npz", entries);
  CHECK_THROWS_WITH_AS(serializers::load_npz(dir / "o.npz", optimizer),
                       doctest::Contains("'W/row' has shape (5, 3) but must have shape (5, 1)"), TypeError);
}

TEST_CASE("16-bit parameters of a user's optimizer, with loss scaling that skips steps") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    for (const bool has_masters : {true, false}) {
      CAPTURE(has_masters);
      Layers half(dtype), wide(Dtype::float32);
      for (size_t i = 0; i < 2; ++i) wide.params()[i]->array().copy_from(half.params()[i]->array());
      OwnAdam scaled, plain;
      scaled.eps = plain.eps = 1e-3;
      scaled.setup(half);
      plain.setup(wide);
      scaled.use_fp32_update(has_masters);
      scaled.loss_scaling({.initial_scale = 256.0});
      int64_t skipped = 0;
      for (int t = 1; t <= 8; ++t) {
        const double scale = scaled.loss_scale();
        set_gradients(half, t, scale);
        for (size_t i = 0; i < 2; ++i) {
          wide.params()[i]->set_grad(half.params()[i]->grad().astype(Dtype::float32) / scale);
          half.params()[i]->node()->saved_state().loss_scale = scale;
        }
        if (t % 3 == 0) {
          half.b.set_grad(full({4}, kInfinity, dtype, test_device()));
          ++skipped;
        } else {
          plain.update();
        }
        const Values before = all_values(half);
        scaled.update();
        if (t % 3 == 0) CHECK(all_values(half) == before);
      }
      CHECK(scaled.skipped_steps() == skipped);
      CHECK(scaled.t() == 8 - skipped);
      check_close(all_values(half), all_values(wide), dtype == Dtype::float16 ? 5e-3 : 4e-2);
      if (has_masters) {
        check_close(half.W.update_rule().state("fp32_param").to_vector<double>(), wide.W.array().to_vector<double>(),
                    1e-5);
        CHECK(half.W.update_rule().state("m").dtype() == Dtype::float32);
      }
    }
  }
}

TEST_CASE("hyperparameters of single parameters, hooks and frozen parameters with a user's optimizer") {
  Layers model, other;
  user::Lion lion;
  lion.lr = 0.01;
  lion.setup(model);
  model.b.update_rule().hyperparam()["lr"] = 0.0;
  lion.add_hook(optimizer_hooks::GradientClipping(1e-3));
  const Values before = model.b.array().to_vector<double>(), W = model.W.array().to_vector<double>();
  step(lion, model, 1);
  CHECK(model.b.array().to_vector<double>() == before);
  CHECK(model.W.array().to_vector<double>() != W);
  CHECK(l2_norm(model.W.grad().to_vector<double>()) <= 1e-3);
  model.W.update_rule().enabled = false;
  const Values still = model.W.array().to_vector<double>();
  step(lion, model, 2);
  CHECK(model.W.array().to_vector<double>() == still);

  model.b.update_rule().hyperparam()["speed"] = 1.0;
  CHECK_THROWS_WITH_AS(step(lion, model, 3), doctest::Contains("there is no 'speed'"), KeyError);
  lion.lr = std::nan("");
  CHECK_THROWS_WITH_AS(lion.setup(other), doctest::Contains("Lion: lr is nan"), ValueError);
}

TEST_CASE("what update_core sets is written when it is done, and may be what it was given") {
  Layers model;
  Scripted swap([](ParameterStep& s) {
    CHECK(s.t().array().item<double>() == 1);
    CHECK(s["lr"].array().item<double>() == 0.5);
    CHECK(s.gradient().dtype() == s.parameter().dtype());
    s.set_parameter(s.state("m"));
    s.set_state("m", s.parameter());
  });
  swap.setup(model);
  const Values before = model.W.array().to_vector<double>();
  step(swap, model, 1);
  CHECK(model.W.array().to_vector<double>() == Values(15, 2));
  CHECK(model.W.update_rule().state("m").to_vector<double>() == before);
}

TEST_CASE("mistakes in a user's optimizer are named") {
  Layers model;
  const auto run = [&](std::function<void(ParameterStep&)> script) {
    Scripted optimizer(std::move(script));
    optimizer.setup(model);
    step(optimizer, model, 1);
  };
  CHECK_THROWS_WITH_AS(run([](ParameterStep& s) { s.state("v"); }),
                       "Scripted::update_core: state: there is no state 'v': there are m", KeyError);
  CHECK_THROWS_WITH_AS(run([](ParameterStep& s) { s["beta"]; }),
                       "Scripted::update_core: step[]: there is no hyperparameter 'beta': there are lr", KeyError);
  CHECK_THROWS_WITH_AS(run([](ParameterStep& s) { s.set_state("m", zeros({2})); }),
                       "Scripted::update_core: set_state(m): value has shape (2,): it must have (5, 3)", TypeError);
  CHECK_THROWS_WITH_AS(run([](ParameterStep& s) { s.set_parameter(Array()); }),
                       "Scripted::update_core: set_parameter: value is an undefined array", StateError);
  for (const char* const name : {"t", "fp32_param", "hyperparam", "", "a/b"}) {
    CHECK_THROWS_AS(Scripted([](ParameterStep&) {}, {name}), ValueError);
  }
  CHECK_THROWS_AS(Scripted([](ParameterStep&) {}, {"m", "m"}), ValueError);
}

}  // namespace kusari::composed_optimizer_test
