#include "kusari/optimizers/optimizer.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/test_device.h"

namespace kusari::testing {
namespace {

using Values = std::vector<double>;

/// Two parameters, a = (1, 2, 3) and b = 4.
class Pair : public Chain {
 public:
  explicit Pair(Dtype dtype = Dtype::float64)
      : a{*this, "a", array<double>({1, 2, 3}, test_device()).astype(dtype)},
        b{*this, "b", full({}, 4, dtype, test_device())} {}
  /// a is multiplied by x, b by 1.
  Variable operator()(const Variable& x) { return functions::sum(a * x) + b; }

  Parameter a, b;
};

void set_grads(Pair& pair, Values a, double b) {
  pair.a.set_grad(array<double>(a, test_device()).astype(pair.a.dtype()));
  pair.b.set_grad(full({}, b, pair.b.dtype(), test_device()));
}

void check_values(const Array& got, const Values& expected, double epsilon = 1e-12) {
  const Values values = got.to_vector<double>();
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(epsilon));
}

TEST_CASE("a step needs a target") {
  optimizers::SGD optimizer;
  CHECK_THROWS_WITH_AS(optimizer.update(), "SGD: no target; call setup(model) first", StateError);
  CHECK_THROWS_AS(optimizer.add_hook(optimizer_hooks::WeightDecay(1)), StateError);
  {
    Pair model;
    optimizer.setup(model);
  }
  CHECK_THROWS_AS(optimizer.update(), StateError);
}

TEST_CASE("SGD, MomentumSGD and Adam follow their formulas") {
  const Values gradients = {0.5, -1, 2};
  SUBCASE("SGD") {
    Pair model;
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    for (const double g : gradients) {
      set_grads(model, {g, g, g}, g);
      optimizer.update();
    }
    check_values(model.a.array(), {1 - 0.15, 2 - 0.15, 3 - 0.15});
    check_values(model.b.array(), {4 - 0.15});
    CHECK(optimizer.t() == 3);
  }
  SUBCASE("MomentumSGD") {
    Pair model;
    optimizers::MomentumSGD optimizer(0.1, 0.9);
    optimizer.setup(model);
    double v = 0, p = 1;
    for (const double g : gradients) {
      set_grads(model, {g, g, g}, g);
      optimizer.update();
      v = 0.9 * v - 0.1 * g;
      p += v;
    }
    check_values(model.a.array(), {p, p + 1, p + 2});
    check_values(model.a.update_rule().state("v"), {v, v, v});
    CHECK(!model.a.update_rule().state("m").is_defined());
  }
  SUBCASE("Adam") {
    Pair model;
    optimizers::Adam optimizer({.alpha = 0.01, .weight_decay_rate = 0.1});
    optimizer.setup(model);
    CHECK_THROWS_AS(optimizer.lr(), StateError);
    double m = 0, v = 0, p = 4;
    int t = 0;
    for (const double g : gradients) {
      set_grads(model, {g, g, g}, g);
      optimizer.update();
      ++t;
      m += 0.1 * (g - m);
      v += 0.001 * (g * g - v);
      const double step = 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
      p -= step * m / (std::sqrt(v) + 1e-8) + 0.1 * p;
      CHECK(optimizer.lr() == doctest::Approx(step));
    }
    check_values(model.b.array(), {p});
  }
}

/// Tensors that fall into several chunks, computed on several threads.
class Large : public Chain {
 public:
  explicit Large(Dtype dtype)
      : a{*this, "a", full({300, 301}, 1, dtype, test_device())},
        b{*this, "b", full({7}, 1, dtype, test_device())},
        c{*this, "c", full({40000}, 1, dtype, test_device())} {}
  Parameter a, b, c;
};

TEST_CASE("one launch for many tensors, whatever the dtype and the number of threads") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    for (const int threads : {1, 2}) {
      const int before = num_threads();
      set_num_threads(threads);
      Large model(dtype);
      optimizers::MomentumSGD optimizer(0.25, 0.5);
      optimizer.setup(model);
      for (int step = 0; step < 2; ++step) {
        for (Parameter* p : model.params()) p->set_grad(full(p->shape(), 2, dtype, test_device()));
        optimizer.update();
      }
      set_num_threads(before);
      // v: -0.5, then -0.75
      for (Parameter* p : model.params()) {
        CHECK(p->array().to_vector<double>() == Values(static_cast<size_t>(p->size()), -0.25));
      }
    }
  }
}

TEST_CASE("update(lossfun) clears gradients after forward, then goes back and steps") {
  Pair model;
  optimizers::SGD optimizer(0.5);
  optimizer.setup(model);
  const Variable x(array<double>({1, 0, 2}, test_device()), false);
  optimizer.update(model, x);
  check_values(model.a.array(), {0.5, 2, 2});
  check_values(model.b.array(), {3.5});
  optimizer.update([&] { return model(x); });
  check_values(model.a.array(), {0, 2, 1});
  CHECK(optimizer.call_target({&x, 1}).item<double>() == doctest::Approx(2 + 3));
  const Variable both[] = {x, x};
  CHECK_THROWS_WITH_AS(optimizer.call_target(both), "the model takes 1 variables, but the batch has 2", TypeError);
}

TEST_CASE("the target may move") {
  optimizers::SGD optimizer(1);
  auto model = std::make_unique<Pair>();
  optimizer.setup(*model);
  Pair moved(std::move(*model));
  model.reset();
  set_grads(moved, {1, 1, 1}, 1);
  optimizer.update();
  check_values(moved.a.array(), {0, 1, 2});
  CHECK(&optimizer.target() == &moved);
  optimizers::SGD other(std::move(optimizer));
  set_grads(moved, {1, 1, 1}, 1);
  other.update();
  check_values(moved.a.array(), {-1, 0, 1});
  moved = Pair();
  CHECK_THROWS_AS(other.update(), StateError);
}

TEST_CASE("copies train on their own, assignment leaves optimizer state alone") {
  Pair model;
  optimizers::MomentumSGD optimizer(1, 0.5);
  optimizer.setup(model);
  set_grads(model, {1, 1, 1}, 1);
  optimizer.update();
  Pair copied(model);
  CHECK(!copied.a.has_update_rule());
  optimizers::SGD second(1);
  second.setup(copied);
  set_grads(copied, {1, 1, 1}, 1);
  second.update();
  check_values(copied.a.array(), {-1, 0, 1});
  check_values(model.a.array(), {0, 1, 2});
  model = copied;
  check_values(model.a.array(), {-1, 0, 1});
  set_grads(model, {0, 0, 0}, 0);
  optimizer.update();
  check_values(model.a.array(), {-1.5, -0.5, 0.5});  // the velocity of before
}

TEST_CASE("a parameter that is replaced or moved out is no longer updated") {
  Pair model;
  optimizers::MomentumSGD optimizer(1, 0.5);
  optimizer.setup(model);
  set_grads(model, {1, 1, 1}, 1);
  optimizer.update();
  model.a = Parameter(array<double>({5, 5, 5}, test_device()));
  CHECK(!model.a.has_update_rule());
  {
    const Parameter taken = std::move(model.b);
    check_values(taken.array(), {3});
  }
  model.cleargrads();
  optimizer.update();
  check_values(model.a.array(), {5, 5, 5});
  CHECK(paths(model) == std::vector<std::string>{"/a"});
}

TEST_CASE("a parameter belongs to the optimizer set up last") {
  Pair model;
  optimizers::SGD first(1), second(2);
  first.setup(model);
  set_grads(model, {1, 1, 1}, 1);
  first.update();
  second.setup(model);
  CHECK_THROWS_AS(first.update(), StateError);  // as tests/optimizers/displaced_test.cc
  check_values(model.a.array(), {0, 1, 2});
  second.update();
  check_values(model.a.array(), {-2, -1, 0});
}

TEST_CASE("a parameter's own hyperparameters, clock and switch") {
  Pair model;
  optimizers::MomentumSGD optimizer(1, 0);
  optimizer.setup(model);
  model.b.update_rule().hyperparam().lr = 10;
  set_grads(model, {1, 1, 1}, 1);
  optimizer.update();
  check_values(model.a.array(), {0, 1, 2});
  check_values(model.b.array(), {-6});
  CHECK(optimizer.lr == 1);
  model.a.update_rule().enabled = false;
  optimizer.update();
  check_values(model.a.array(), {0, 1, 2});
  check_values(model.b.array(), {-16});
  CHECK(model.a.update_rule().t() == 1);
  CHECK(model.b.update_rule().t() == 2);
  model.enable_update();
  model.b.update_rule().hyperparam().rho = 3;
  CHECK_THROWS_WITH_AS(optimizer.update(),
                       "MomentumSGD::hyperparameter: there is no 'rho': it must be one of lr momentum", KeyError);
  model.disable_update();
  CHECK(!model.update_enabled());
}

TEST_CASE("parameters of several clocks are stepped with their own") {
  Pair model;
  optimizers::Adam optimizer({.alpha = 1});
  optimizer.setup(model);
  model.b.update_rule().enabled = false;
  for (int i = 0; i < 3; ++i) {
    set_grads(model, {1, 1, 1}, 1);
    if (i == 2) model.b.update_rule().enabled = true;
    optimizer.update();
  }
  // A constant gradient moves Adam by alpha at every step of the parameter's own clock.
  check_values(model.a.array(), {-2, -1, 0}, 1e-6);
  check_values(model.b.array(), {3}, 1e-6);
}

TEST_CASE("no gradient is gradient zero") {
  Pair model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  model.cleargrads();
  optimizer.update();
  check_values(model.a.array(), {1, 2, 3});
  TwoLayers forgotten(2);
  forgotten.to(test_device());
  optimizer.setup(forgotten);
  optimizer.update();
  CHECK(std::isnan(forgotten.l1.W.to_vector<double>()[0]));  // cleargrads was never called
}

TEST_CASE("gradients that others see or that lie otherwise in memory") {
  TwoLayers model(3);
  model.to(test_device());
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  model.cleargrads();
  model.l1.W.array().fill(0);
  const Array transposed = array<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}, test_device()).transpose();
  model.l1.W.set_grad(transposed);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1));
  optimizer.update();
  CHECK(model.l1.W.to_vector<double>() == Values{-1, -4, -7, -2, -5, -8, -3, -6, -9});
  model.cleargrads();
  const Array seen = ones({3}, Dtype::float32, test_device());
  model.l1.b.array().fill(1);
  model.l1.b.set_grad(seen);
  optimizer.update();
  CHECK(seen.to_vector<double>() == Values{1, 1, 1});
  CHECK(model.l1.b.to_vector<double>() == Values{-1, -1, -1});
}

TEST_CASE("hooks run in order, at their time, and have one name each") {
  Pair model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  std::string log;
  optimizer.add_hook([&](Optimizer& o) { log += o.name() + std::string(" "); }, "post", HookTiming::post);
  optimizer.add_hook([&](Parameter& p) { log += p.name() + " "; }, "first");
  optimizer.add_hook([&](UpdateRule& rule, Parameter&) { log += std::to_string(rule.t()) + " "; }, "second");
  optimizer.add_hook([&](std::span<Parameter* const> all) { log += std::to_string(all.size()) + " "; }, "third");
  set_grads(model, {1, 1, 1}, 1);
  optimizer.update();
  CHECK(log == "a b 0 0 2 SGD ");
  CHECK_THROWS_WITH_AS(optimizer.add_hook([](Parameter&) {}, "first"),
                       "Optimizer::add_hook: there is already a hook named 'first'", KeyError);
  CHECK_THROWS_AS(optimizer.add_hook([](Parameter&) {}), ValueError);
  optimizer.remove_hook("first");
  CHECK_THROWS_AS(optimizer.remove_hook("first"), KeyError);
  log.clear();
  optimizer.update();
  CHECK(log == "1 1 2 SGD ");
  model.a.update_rule().add_hook([&](Parameter& p) { log += p.name(); }, "own");
  log.clear();
  optimizer.update();
  CHECK(log == "2 2 2 aSGD ");
  optimizer.setup(model);
  log.clear();
  optimizer.update();
  CHECK(log.empty());
}

TEST_CASE("hooks do what they say") {
  Pair model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  const auto gradient = [&](const OptimizerHook& hook, Values a, double b) {
    Pair fresh;
    optimizer.setup(fresh);
    optimizer.add_hook(hook);
    set_grads(fresh, std::move(a), b);
    optimizer.update();
    Values g = fresh.a.grad().to_vector<double>();
    g.push_back(fresh.b.grad().item<double>());
    return g;
  };
  const auto check = [](const Values& got, const Values& expected) {
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK((std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == doctest::Approx(expected[i])));
    }
  };
  using namespace optimizer_hooks;
  check(gradient(WeightDecay(0.5), {1, 1, 1}, 0), {1.5, 2, 2.5, 2});
  check(gradient(Lasso(0.5), {1, 0, -1}, 0), {1.5, 0.5, -0.5, 0.5});
  check(gradient(GradientClipping(1), {2, 4, 5}, 2), {2 / 7., 4 / 7., 5 / 7., 2 / 7.});
  check(gradient(GradientClipping(100), {2, 4, 5}, 2), {2, 4, 5, 2});
  check(gradient(GradientHardClipping(-1, 3), {-2, 0.5, 5}, 3), {-1, 0.5, 3, 3});
  const double p = std::sqrt(14.), g = std::sqrt(3.);
  check(gradient(GradientLARS({.weight_decay = 0.1}), {1, 1, 1}, 2),
        {1.1 * p / (g + 0.1 * p), 1.2 * p / (g + 0.1 * p), 1.3 * p / (g + 0.1 * p), 2.4 * 4 / 2.4});
  const double infinity = std::numeric_limits<double>::infinity();
  check(gradient(GradientClipping(1), {infinity, 4, 5}, 2), {std::nan(""), 0, 0, 0});
  const Values noisy = gradient(GradientNoise(1e-4), {0, 0, 0}, 0);
  for (const double n : noisy) CHECK((n != 0 && std::abs(n) < 0.07));  // 7 standard deviations
}

TEST_CASE("float32 copies of 16-bit parameters keep small steps") {
  for (const bool fp32 : {false, true}) {
    Pair model(Dtype::float16);
    optimizers::SGD optimizer(1);
    optimizer.use_fp32_update(fp32);
    optimizer.setup(model);
    for (int i = 0; i < 1024; ++i) {
      set_grads(model, {0x1p-12, 0, 0}, 0);  // half of float16's spacing below 1
      optimizer.update();
    }
    CHECK(model.a.to_vector<double>()[0] == (fp32 ? 0.75 : 1.0));
    CHECK(model.a.dtype() == Dtype::float16);
  }
}

TEST_CASE("loss scaling: hooks see unscaled gradients") {
  Pair model(Dtype::float32);
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  optimizer.set_loss_scale(64);
  CHECK(optimizer.loss_scale() == 64);
  Values seen;
  optimizer.add_hook([&](Parameter& p) { seen.push_back(p.grad().to_vector<double>()[0]); }, "look");
  optimizer.add_hook(optimizer_hooks::WeightDecay(0.5));
  optimizer.update(model, Variable(array<float>({3, 0, 0}, test_device()), false));
  CHECK(seen == Values{3, 1});
  check_values(model.a.array(), {1 - 3.5, 1, 1.5});
  CHECK_THROWS_AS(optimizer.set_loss_scale(0), ValueError);
  CHECK_THROWS_AS(optimizer.loss_scaling({.interval = 0}), ValueError);
}

TEST_CASE("loss scaling: a step that overflows changes nothing but the scale") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const bool dynamic : {false, true}) {
    Pair model(Dtype::float32);
    optimizers::MomentumSGD optimizer(1, 0.5);
    optimizer.setup(model);
    optimizer.loss_scaling(dynamic ? LossScalingOptions{.interval = 1} : LossScalingOptions{.scale = 8});
    const double before = optimizer.loss_scale();
    int calls = 0;
    optimizer.add_hook([&](Optimizer&) { ++calls; }, "count");
    optimizer.update(model, Variable(array<float>({infinity, 0, 0}, test_device()), false));
    CHECK(!optimizer.is_safe_to_update());
    CHECK(optimizer.t() == 0);
    CHECK(calls == 1);  // hooks run, and may see what is not finite
    check_values(model.a.array(), {1, 2, 3});
    CHECK(optimizer.loss_scale() == (dynamic ? before / 2 : 8));
    optimizer.update(model, Variable(array<float>({1, 0, 0}, test_device()), false));
    CHECK(optimizer.is_safe_to_update());
    check_values(model.a.array(), {0, 2, 3});
    CHECK(optimizer.t() == 1);
    CHECK(optimizer.loss_scale() == (dynamic ? before : 8));
  }
}

TEST_CASE("a resumed optimizer goes on as if nothing had happened") {
  const ScratchDirectory scratch;
  const auto run = [&](bool interrupted, Dtype dtype) {
    auto model = std::make_unique<Pair>(dtype);
    auto optimizer = std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.5});
    optimizer->use_fp32_update();
    optimizer->setup(*model);
    optimizer->loss_scaling({.interval = 2});
    model->b.update_rule().hyperparam().alpha = 0.25;
    for (int i = 0; i < 8; ++i) {
      if (i == 4) optimizer->alpha = 0.125;
      if (i == 5 && interrupted) {
        serializers::save_npz(scratch / "model.npz", *model);
        serializers::save_npz(scratch / "optimizer.npz", *optimizer);
        model = std::make_unique<Pair>(dtype);
        optimizer = std::make_unique<optimizers::Adam>();
        optimizer->use_fp32_update();
        optimizer->setup(*model);
        optimizer->loss_scaling({.interval = 2});
        serializers::load_npz(scratch / "model.npz", *model);
        serializers::load_npz(scratch / "optimizer.npz", *optimizer);
      }
      optimizer->update(*model, Variable(array<double>({0.5 * i, 1, -2}, test_device()).astype(dtype), false));
    }
    Values result = model->a.to_vector<double>();
    result.push_back(model->b.item<double>());
    result.push_back(optimizer->loss_scale());
    result.push_back(optimizer->alpha);
    result.push_back(static_cast<double>(optimizer->t()));
    return result;
  };
  for (const Dtype dtype : {Dtype::float16, Dtype::float32}) CHECK(run(true, dtype) == run(false, dtype));
}

TEST_CASE("snapshots have Chainer's keys, and Chainer's are read") {
  const ScratchDirectory scratch;
  TwoLayers model(2);
  model.to(test_device());
  optimizers::Adam optimizer;
  optimizer.setup(model);
  model.cleargrads();
  optimizer.update();
  optimizer.new_epoch();
  serializers::save_npz(scratch / "optimizer.npz", optimizer);
  const serializers::NpzReader npz(scratch / "optimizer.npz");
  for (const char* key : {"t", "epoch", "l1/W/t", "l1/W/m", "l1/W/v", "l2/W/v", "hyperparam/alpha"}) {
    CAPTURE(key);
    CHECK(npz.contains(key));
  }
  // What Chainer writes: no hyperparameters.
  serializers::NpzDictionary chainer;
  for (const std::string& key : npz.keys()) {
    if (key.find("hyperparam") == std::string::npos) chainer.emplace_back(key, npz.value(key));
  }
  serializers::save_npz_dictionary(scratch / "chainer.npz", chainer);
  optimizers::Adam other({.alpha = 0.25});
  other.setup(model);
  serializers::load_npz(scratch / "chainer.npz", other);
  CHECK(other.t() == 1);
  CHECK(other.epoch() == 1);
  CHECK(other.alpha == 0.25);
  CHECK(model.l1.W.update_rule().t() == 1);
}

TEST_CASE("epochs are counted by the updater or by hand, not by both") {
  Pair model;
  optimizers::SGD optimizer;
  optimizer.setup(model);
  optimizer.new_epoch();
  CHECK(optimizer.epoch() == 1);
  optimizer.new_epoch(true);
  CHECK(optimizer.epoch() == 2);
  CHECK_THROWS_AS(optimizer.new_epoch(), StateError);
}

TEST_CASE("update refuses a loss that gives no parameter a gradient") {
  Pair model;
  optimizers::SGD optimizer;
  optimizer.setup(model);
  const Variable x(array<double>({1, 1, 1}, test_device()), false);
  CHECK_THROWS_WITH_AS(optimizer.update([&] { return functions::sum(x); }),
                       "SGD::update: the loss function returned a loss without a graph: it depends on no parameter, or "
                       "was computed in no_backprop_mode or from arrays, so that no parameter would get a gradient",
                       StateError);
  CHECK_THROWS_AS(optimizer.update([&] {
    const auto mode = no_backprop_mode();
    return model(x);
  }),
                  StateError);
  const std::vector<double> before = model.a.to_vector<double>();
  {
    const auto mode = no_backprop_mode();
    CHECK_THROWS_WITH_AS(optimizer.update([&] { return model(x); }),
                         doctest::Contains("no_backprop_mode is in force (config.enable_backprop is false)"),
                         StateError);
  }
  CHECK(model.a.to_vector<double>() == before);
  CHECK(optimizer.t() == 0);
  optimizer.update([&] { return model(x); });
  CHECK(model.a.to_vector<double>() != before);
}

TEST_CASE("an update that throws is no step") {
  for (const bool scales : {false, true}) {
    CAPTURE(scales);
    Pair model, other;
    optimizers::Adam optimizer, plain;
    optimizer.setup(model);
    plain.setup(other);
    if (scales) optimizer.loss_scaling({.scale = 8});
    const Variable x(array<double>({1, 2, 3}, test_device()), false);
    for (int step = 0; step < 3; ++step) {
      optimizer.alpha = std::numeric_limits<double>::quiet_NaN();
      CHECK_THROWS_AS(optimizer.update(model, x), ValueError);
      CHECK(optimizer.t() == step);
      CHECK(model.a.update_rule().t() == step);
      optimizer.alpha = plain.alpha;
      optimizer.update(model, x);
      plain.update(other, x);
    }
    check_values(model.a.array(), other.a.to_vector<double>());
  }
}

TEST_CASE("hyperparameters by name") {
  optimizers::Adam optimizer;
  optimizer.hyperparameter("alpha") = 0.5;
  CHECK(optimizer.alpha == 0.5);
  CHECK(optimizer.has_hyperparameter("eta"));
  CHECK(!optimizer.has_hyperparameter("lr"));
  CHECK_THROWS_WITH_AS(
      optimizer.hyperparameter("lr"),
      "Adam::hyperparameter: there is no 'lr': it must be one of alpha beta1 beta2 eps eta weight_decay_rate",
      KeyError);
}

}  // namespace
}  // namespace kusari::testing
