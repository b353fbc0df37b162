#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/optimizers/l2_norm.h"

namespace kusari::testing {
namespace {

using Values = std::vector<double>;
using optimizer_hooks::GradientNoise;

class MatrixAndVector : public Chain {
 public:
  MatrixAndVector() : a{*this, "a", uniform({2, 3}, -2, 2, 1)}, b{*this, "b", uniform({4}, -2, 2, 2)} {}
  Parameter a, b;
};

struct State {
  Values p, g;
};

/// What a hook does to the gradients of the parameters that it is given.
using Formula = std::function<void(std::span<State* const>)>;

Formula each(const std::function<double(double p, double g)>& f) {
  return [f](std::span<State* const> states) {
    for (State* s : states) {
      for (size_t i = 0; i < s->g.size(); ++i) s->g[i] = f(s->p[i], s->g[i]);
    }
  };
}

void clip(std::span<State* const> states) {
  double squares = 0;
  for (const State* s : states) squares += std::pow(l2_norm(s->g), 2);
  for (State* s : states) {
    for (double& g : s->g) g *= std::min(1.0, 0.5 / std::sqrt(squares));
  }
}

void lars_hook(std::span<State* const> states) {
  for (State* s : states) {
    const double rate = l2_norm(s->p) / (1e-9 + l2_norm(s->g) + 0.1 * l2_norm(s->p));
    for (size_t i = 0; i < s->g.size(); ++i) s->g[i] = (s->g[i] + 0.1 * s->p[i]) * rate;
  }
}

TEST_CASE("every hook, of an optimizer and of a rule, before and after the update") {
  struct Case {
    const char* name;
    OptimizerHook hook;
    Formula formula;
  };
  const GradientNoise::NoiseFunction ramp = [](const Array& parameter, double eta, int64_t t) {
    return full(parameter.shape(), eta * static_cast<double>(t + 1), Dtype::float64, parameter.device());
  };
  double noise = 0;  // t is 0 before the first update, and 1 for a rule that has begun it, as in Chainer
  const Case cases[] = {
      {"WeightDecay", optimizer_hooks::WeightDecay(0.25), each([](double p, double g) { return g + 0.25 * p; })},
      {"Lasso", optimizer_hooks::Lasso(0.25), each([](double p, double g) {
         return g + (p > 0 ? 0.25 : p < 0 ? -0.25 : 0);
       })},
      {"GradientClipping", optimizer_hooks::GradientClipping(0.5), clip},
      {"GradientHardClipping", optimizer_hooks::GradientHardClipping(-0.25, 0.5),
       each([](double, double g) { return std::min(std::max(g, -0.25), 0.5); })},
      {"GradientLARS", optimizer_hooks::GradientLARS({.weight_decay = 0.1}), lars_hook},
      {"GradientNoise", GradientNoise(0.5, ramp), each([&](double, double g) { return g + noise; })},
  };
  constexpr double kLr = 0.5;
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(c.hook.name() == c.name);
    for (const bool of_rule : {false, true}) {
      CAPTURE(of_rule);
      for (const HookTiming timing : {HookTiming::automatic, HookTiming::pre, HookTiming::post}) {
        const bool is_post = timing == HookTiming::post;
        CAPTURE(is_post);
        MatrixAndVector model;
        optimizers::SGD optimizer(kLr);
        optimizer.setup(model);
        if (of_rule) {
          model.a.update_rule().add_hook(c.hook, {}, timing);
        } else {
          optimizer.add_hook(c.hook, {}, timing);
        }
        model.a.set_grad(uniform({2, 3}, -1, 1, 3));
        model.b.set_grad(uniform({4}, -1, 1, 4));
        State a{model.a.to_vector<double>(), model.a.grad().to_vector<double>()};
        State b{model.b.to_vector<double>(), model.b.grad().to_vector<double>()};
        State* const both[] = {&a, &b};
        const std::span<State* const> hooked(both, of_rule ? 1 : 2);
        const auto step = [&] {
          for (State* s : both) {
            for (size_t i = 0; i < s->p.size(); ++i) s->p[i] -= kLr * s->g[i];
          }
        };
        noise = is_post || of_rule ? 1.0 : 0.5;
        if (!is_post) c.formula(hooked);
        step();
        if (is_post) c.formula(hooked);
        optimizer.update();
        check_close(model.a.array(), {2, 3}, a.p);
        check_close(model.b.array(), {4}, b.p);
        check_close(model.a.grad(), {2, 3}, a.g);
        check_close(model.b.grad(), {4}, b.g);
      }
    }
  }
}

TEST_CASE("GradientNoise draws with the deviation of its schedule, or as it is told") {
  class Large : public Chain {
   public:
    Large() : p{*this, "p", zeros({100000}, Dtype::float64, test_device())} {}
    Parameter p;
  } model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  optimizer.add_hook(GradientNoise(0.3));
  random::seed(1);
  for (int t = 0; t < 3; ++t) {
    CAPTURE(t);
    model.p.set_grad(zeros({100000}, Dtype::float64, test_device()));
    optimizer.update();
    double sum = 0, squares = 0;
    for (const double g : model.p.grad().to_vector<double>()) {
      sum += g;
      squares += g * g;
    }
    const double deviation = std::sqrt(0.3 / std::pow(1 + t, 0.55));
    CHECK(std::abs(sum / 1e5) < 5 * deviation / std::sqrt(1e5));
    CHECK(std::sqrt(squares / 1e5) == doctest::Approx(deviation).epsilon(5 / std::sqrt(2e5)));
  }
  optimizer.remove_hook("GradientNoise");
  optimizer.add_hook(GradientNoise(1, [](const Array&, double, int64_t) { return ones({2}); }));
  CHECK_THROWS_WITH_AS(optimizer.update(),
                       "GradientNoise: the parameter 'p' has shape (100000,) but its noise has shape (2,)", ValueError);
}

TEST_CASE("hooks take gradients as hooks before them have left them, however they lie in memory") {
  class Square : public Chain {
   public:
    Square() : p{*this, "p", uniform({3, 3}, -2, 2, 1).to_device(test_device())} {}
    Parameter p;
  };
  const OptimizerHook hooks[] = {optimizer_hooks::WeightDecay(1),
                                 optimizer_hooks::Lasso(1),
                                 optimizer_hooks::GradientClipping(0.5),
                                 optimizer_hooks::GradientHardClipping(-0.5, 0.5),
                                 optimizer_hooks::GradientLARS({.weight_decay = 0.1}),
                                 GradientNoise(0.5),
                                 GradientNoise(0.5, [](const Array& p, double, int64_t) { return ones(p.shape()); })};
  const Array square = uniform({3, 3}, -1, 1, 2).to_device(test_device());
  const Array gradients[] = {full({}, 7, square.dtype(), square.device()).broadcast_to({3, 3}), square.transpose(),
                             square.slice(0, 0, 1).broadcast_to({3, 3})};
  enum class Way { optimizer, rule, alone };
  const auto changed = [](const OptimizerHook& hook, const Array& gradient, Way way) {
    Square model;
    optimizers::SGD optimizer(1);
    optimizer.setup(model);
    random::seed(3);
    Parameter* const parameter = &model.p;
    UpdateRule* const rule = &model.p.update_rule();
    const auto set = [&](Parameter& p) { p.set_grad(gradient); };
    if (way == Way::alone) {
      set(model.p);
      hook(&optimizer, {&parameter, 1}, {&rule, 1});
    } else if (way == Way::rule) {
      rule->add_hook(set, "set");
      rule->add_hook(hook);
      optimizer.update();
    } else {
      optimizer.add_hook(set, "set");
      optimizer.add_hook(hook);
      optimizer.update();
    }
    Values result = model.p.grad().to_vector<double>();
    for (const double p : model.p.to_vector<double>()) result.push_back(p);
    return result;
  };
  for (const OptimizerHook& hook : hooks) {
    CAPTURE(hook.name());
    for (const Array& gradient : gradients) {
      const Array plain = gradient.contiguous().copy();
      const Values before = gradient.to_vector<double>();
      for (const Way way : {Way::optimizer, Way::rule, Way::alone}) {
        CHECK(changed(hook, gradient, way) == changed(hook, plain, way));
      }
      CHECK(gradient.to_vector<double>() == before);
    }
  }
}

TEST_CASE("hooks take parameters that lie with gaps in memory") {
  class Matrix : public Chain {
   public:
    Matrix() : W{*this, "W", zeros({2, 3}, Dtype::float32, test_device())} {}
    Parameter W;
  } model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  const Array strided = array<float>({1, 2, 3}, {3}, test_device()).broadcast_to({2, 3});
  model.W.set_array(strided);
  model.W.set_grad(strided);
  Parameter* const parameter = &model.W;
  optimizer_hooks::WeightDecay(1)({&parameter, 1});
  CHECK(model.W.grad().to_vector<double>() == Values{2, 4, 6, 2, 4, 6});
  CHECK(strided.to_vector<double>() == Values{1, 2, 3, 1, 2, 3});
  optimizer.add_hook([&](Parameter& p) { p.set_array(full({}, 5, p.dtype(), p.device()).broadcast_to(p.shape())); },
                     "set");
  optimizer.update();
  CHECK(model.W.to_vector<double>() == Values{3, 1, -1, 3, 1, -1});
}

TEST_CASE("loss scaling as in Chainer takes gradients that a hook has spread") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    MatrixAndVector model;
    model.to(test_device());
    model.a.set_array(zeros({2, 3}, dtype, test_device()));
    optimizers::SGD optimizer(1);
    optimizer.setup(model);
    optimizer.use_fp32_update();
    optimizer.loss_scaling({.scale = 1, .chainer_compatible = true});
    optimizer.add_hook(
        [&](std::span<Parameter* const>) {
          model.a.set_grad(full({}, 3, dtype, test_device()).broadcast_to({2, 3}));
        },
        "spread");
    optimizer.update();
    CHECK(model.a.to_vector<double>() == Values(6, -3));
  }
}

TEST_CASE("hooks add and remove hooks") {
  MatrixAndVector model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  std::string log;
  UpdateRule& rule = model.a.update_rule();
  const auto next = [&](Parameter&) { log += "next "; };
  optimizer.add_hook(
      [&, kept = std::string("once ")](Optimizer& o) {
        o.remove_hook("once");
        for (int i = 0; i < 20; ++i) o.add_hook([&](Optimizer&) { log += "."; }, "new " + std::to_string(i));
        log += kept;
      },
      "once");
  optimizer.add_hook([&](Optimizer&) { log += "last "; }, "last");
  rule.add_hook(
      [&, kept = std::string("own once ")](UpdateRule& own, Parameter&) {
        own.remove_hook("own once");
        own.add_hook(next, "next");
        log += kept;
      },
      "own once");
  optimizer.update();
  CHECK(log == "once last own once ");
  log.clear();
  optimizer.update();
  CHECK(log == "last " + std::string(20, '.') + "next ");
}

TEST_CASE("rules keep their hooks' names apart") {
  MatrixAndVector model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  UpdateRule& rule = model.a.update_rule();
  rule.add_hook(optimizer_hooks::WeightDecay(1));
  CHECK_THROWS_AS(rule.add_hook(optimizer_hooks::WeightDecay(1)), KeyError);
  rule.add_hook(optimizer_hooks::WeightDecay(1), "second", HookTiming::post);
  rule.remove_hook("WeightDecay");
  CHECK_THROWS_AS(rule.remove_hook("WeightDecay"), KeyError);
  CHECK_NOTHROW(optimizer.add_hook(optimizer_hooks::WeightDecay(1)));
  // A disabled rule runs none of its hooks; the optimizer's hooks still see its gradient.
  rule.enabled = false;
  model.a.set_grad(zeros({2, 3}, Dtype::float64, test_device()));
  const Values before = model.a.to_vector<double>();
  optimizer.update();
  CHECK(model.a.to_vector<double>() == before);
  CHECK(model.a.grad().to_vector<double>() == before);
  CHECK(rule.t() == 0);
}

}  // namespace
}  // namespace kusari::testing
