#include "kusari/framework/amp/grad_scaler.h"

#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/hooks/gradient_clipping.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/amp/grad_scaler_sequences.h"
#include "kusari/tests/amp/small_net.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using amp::GradScaler;
using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Three numbers that start at zero.
class Weights : public Chain {
 public:
  explicit Weights(Dtype dtype = Dtype::float32) : w{*this, "w", zeros({3}, dtype, test_device())} {}
  /// With gradient x.
  Variable loss(const Values& x) { return F::sum(w * array<double>(x, test_device())); }
  Values values() const { return w.to_vector<double>(); }

  Parameter w;
};

struct ScaledTraining {
  explicit ScaledTraining(Dtype dtype = Dtype::float32) : model(dtype) { optimizer.setup(model); }
  void backward(GradScaler& scaler, const Values& gradient) {
    model.cleargrads();
    scaler.scale(model.loss(gradient)).backward();
  }
  void iterate(GradScaler& scaler, const Values& gradient) {
    backward(scaler, gradient);
    scaler.step(optimizer);
    scaler.update();
  }

  Weights model;
  optimizers::SGD optimizer{1};
};

Values gradient_of(char outcome, size_t place) {
  Values gradient(3, 1);
  if (outcome == 'x') gradient[place % 3] = kInfinity;
  if (outcome == 'n') gradient[place % 3] = std::nan("");
  return gradient;
}

TEST_CASE("GradScaler goes through the states that PyTorch's goes through") {
  for (const ScalerSequence& sequence : scaler_sequences()) {
    CAPTURE(sequence.growth_interval);
    CAPTURE(sequence.init_scale);
    GradScaler scaler({.init_scale = sequence.init_scale,
                       .growth_factor = sequence.growth_factor,
                       .backoff_factor = sequence.backoff_factor,
                       .growth_interval = sequence.growth_interval});
    CHECK(scaler.get_scale() == sequence.init_scale);
    const size_t n = sequence.outcomes.size();
    std::deque<ScaledTraining> trainings(n);
    REQUIRE(sequence.scales.size() >= 50);
    for (size_t i = 0; i < sequence.scales.size(); ++i) {
      CAPTURE(i);
      for (size_t k = 0; k < n; ++k) trainings[k].backward(scaler, gradient_of(sequence.outcomes[k][i], i));
      for (size_t k = 0; k < n; ++k) {
        if ((i + k) % 3 == 0) scaler.unscale_(trainings[k].optimizer);
        scaler.step(trainings[k].optimizer);
      }
      scaler.update();
      CHECK(scaler.get_scale() == doctest::Approx(sequence.scales[i]).epsilon(1e-6));  // PyTorch's is float32
      CHECK(scaler.get_growth_tracker() == sequence.trackers[i]);
    }
    for (size_t k = 0; k < n; ++k) {
      const auto iterations = static_cast<int64_t>(sequence.scales.size());
      CHECK(trainings[k].optimizer.t() == sequence.steps[k]);
      CHECK(trainings[k].optimizer.skipped_steps() == iterations - sequence.steps[k]);
      for (const double w : trainings[k].model.values()) {
        CHECK(w == doctest::Approx(-static_cast<double>(sequence.steps[k])).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("the scale doubles after 2000 iterations without overflow") {
  GradScaler scaler;
  ScaledTraining training;
  for (int i = 0; i < 1999; ++i) training.iterate(scaler, {1, 1, 1});
  CHECK(scaler.get_scale() == 65536);
  CHECK(scaler.get_growth_tracker() == 1999);
  training.iterate(scaler, {1, 1, 1});
  CHECK(scaler.get_scale() == 131072);
  CHECK(scaler.get_growth_tracker() == 0);
  CHECK(training.optimizer.t() == 2000);
  CHECK(training.model.values() == Values(3, -2000));
}

// The documented rule, on the host.
struct HostScaler {
  double scale, growth_factor, backoff_factor;
  int64_t growth_interval, tracker = 0;

  void update(bool is_finite) {
    if (!is_finite) {
      scale *= backoff_factor;
      tracker = 0;
    } else if (++tracker == growth_interval) {
      scale *= growth_factor;
      tracker = 0;
    }
  }
};

TEST_CASE("random iterations of several optimizers follow the rule") {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
    const auto pick = [&](const Values& choices) { return choices[random() % choices.size()]; };
    HostScaler host{std::exp2(random() % 20), pick({2, 4, 1.5}), pick({0.5, 0.25, 0.75}),
                    static_cast<int64_t>(pick({1, 2, 3, 7}))};
    GradScaler scaler({host.scale, host.growth_factor, host.backoff_factor, host.growth_interval});
    std::deque<ScaledTraining> trainings(1 + random() % 3);
    std::vector<int64_t> steps(trainings.size());
    for (int i = 0; i < 40; ++i) {
      CAPTURE(i);
      bool is_finite = true, any = false;
      for (size_t k = 0; k < trainings.size(); ++k) {
        if (k > 0 && chance(0.2)) continue;  // an optimizer without a step in this iteration
        ScaledTraining& training = trainings[k];
        training.model.cleargrads();
        const int losses = 1 + static_cast<int>(random() % 3);
        bool own = true;
        for (int loss = 0; loss < losses; ++loss) {
          const char outcome = chance(0.1) ? (chance(0.5) ? 'x' : 'n') : '.';
          own = own && outcome == '.';
          const double share = 1.0 / losses;
          scaler.scale(training.model.loss(gradient_of(outcome, random() % 3)) * share).backward();
        }
        if (chance(0.3)) scaler.unscale_(training.optimizer);
        scaler.step(training.optimizer);
        steps[k] += own;
        is_finite = is_finite && own;
        any = true;
      }
      REQUIRE(any);
      if (chance(0.05)) {
        host.scale = std::exp2(random() % 16);
        scaler.update(host.scale);
      } else {
        if (chance(0.05)) {
          host.growth_factor = 3;
          host.backoff_factor = 0.125;
          scaler.set_growth_factor(3);
          scaler.set_backoff_factor(0.125);
        }
        host.update(is_finite);
        scaler.update();
      }
      CHECK(scaler.get_scale() == doctest::Approx(host.scale).epsilon(1e-12));
      CHECK(scaler.get_growth_tracker() == host.tracker);
    }
    for (size_t k = 0; k < trainings.size(); ++k) {
      CHECK(trainings[k].optimizer.t() == steps[k]);
      CHECK(trainings[k].model.values()[0] == doctest::Approx(-static_cast<double>(steps[k])).epsilon(1e-4));
    }
  }
}

TEST_CASE("a growth that float32 cannot hold does not happen") {
  GradScaler scaler({.init_scale = 0x1p127, .growth_interval = 1});
  ScaledTraining training;
  training.iterate(scaler, {1, 1, 1});
  CHECK(scaler.get_scale() == 0x1p127);
  CHECK(training.model.values() == Values(3, -1));
}

TEST_CASE("update with a new scale") {
  GradScaler scaler({.growth_interval = 2});
  ScaledTraining training;
  training.iterate(scaler, {1, 1, 1});
  training.backward(scaler, {1, 1, 1});
  scaler.update(256);  // without a step
  CHECK(scaler.get_scale() == 256);
  CHECK(scaler.get_growth_tracker() == 1);
  training.iterate(scaler, {1, 1, 1});
  CHECK(scaler.get_scale() == 512);
  CHECK_THROWS_WITH_AS(scaler.update(-1), "amp::GradScaler::update: new_scale is -1 but must be positive and finite",
                       ValueError);
  CHECK_THROWS_AS(scaler.update(kInfinity), ValueError);
}

TEST_CASE("an overflow changes nothing but the scale") {
  GradScaler scaler;
  Weights model;
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto iterate = [&](const Values& gradient) {
    model.cleargrads();
    scaler.scale(model.loss(gradient)).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  iterate({1, 2, 3});
  const Values w = model.values(), m = model.w.update_rule().state("m").to_vector<double>(),
               v = model.w.update_rule().state("v").to_vector<double>();
  iterate({1, kInfinity, 3});
  CHECK(model.values() == w);
  CHECK(model.w.update_rule().state("m").to_vector<double>() == m);
  CHECK(model.w.update_rule().state("v").to_vector<double>() == v);
  CHECK(scaler.get_scale() == 32768);
  CHECK(optimizer.t() == 1);
  iterate({1, 2, 3});

  Weights plain;  // as if the second iteration had never been
  optimizers::Adam reference;
  reference.setup(plain);
  for (int i = 0; i < 2; ++i) {
    plain.cleargrads();
    plain.loss({1, 2, 3}).backward();
    reference.update();
  }
  CHECK(model.values() == plain.values());
}

TEST_CASE("unscaled gradients may be read and changed") {
  SUBCASE("by hand") {
    GradScaler scaler;
    ScaledTraining training;
    training.backward(scaler, {3, 0, 4});
    CHECK(training.model.w.grad().to_vector<double>()[0] == 3 * 65536.0);
    scaler.unscale_(training.optimizer);
    CHECK(training.model.w.grad().to_vector<double>() == Values{3, 0, 4});
    training.model.w.set_grad(array<float>({0.5f, 0, 1}, test_device()));
    scaler.step(training.optimizer);
    scaler.update();
    CHECK(training.model.values() == Values{-0.5, 0, -1});
  }
  SUBCASE("by hooks") {
    for (const bool by_hand : {false, true}) {
      GradScaler scaler;
      ScaledTraining training;
      training.optimizer.add_hook(optimizer_hooks::GradientClipping(1));
      training.backward(scaler, {3, 0, 4});
      if (by_hand) scaler.unscale_(training.optimizer);
      scaler.step(training.optimizer);
      scaler.update();
      CHECK(training.model.values()[0] == doctest::Approx(-0.6));
      CHECK(training.model.values()[2] == doctest::Approx(-0.8));
      training.iterate(scaler, {kInfinity, 0, 0});
      CHECK(training.model.values()[0] == doctest::Approx(-0.6));
      CHECK(scaler.get_scale() == 32768);
    }
  }
  SUBCASE("what was not finite at unscale_ is skipped, whatever is done to it") {
    GradScaler scaler;
    ScaledTraining training;
    training.backward(scaler, {3, kInfinity, 4});
    scaler.unscale_(training.optimizer);
    training.model.w.set_grad(ones({3}, Dtype::float32, test_device()));
    scaler.step(training.optimizer);
    scaler.update();
    CHECK(training.model.values() == Values(3));
    CHECK(scaler.get_scale() == 32768);
  }
}

/// Two links, each of which may have an optimizer.
class Pair : public Chain {
 public:
  Pair() : first{*this, "first"}, second{*this, "second"} {}
  Child<Weights> first, second;
};

TEST_CASE("two optimizers of one loss, each with a link of its own") {
  GradScaler scaler;
  Pair pair;
  optimizers::SGD both(1), one(1), other(1);
  both.setup(pair);
  one.setup(pair.second);
  other.setup(pair.first);
  pair.cleargrads();
  scaler.scale(pair.first.loss({1, 2, 3}) + pair.second.loss({4, 5, 6})).backward();
  CHECK_THROWS_AS(scaler.unscale_(both), StateError);  // the others have taken over its parameters
  CHECK_THROWS_AS(scaler.step(both), StateError);
  scaler.unscale_(other);
  scaler.unscale_(one);
  scaler.step(other);
  scaler.step(one);
  scaler.update();
  CHECK(pair.first.values() == Values{-1, -2, -3});
  CHECK(pair.second.values() == Values{-4, -5, -6});
}

TEST_CASE("gradients of several backward calls add up") {
  GradScaler scaler;
  ScaledTraining training;
  training.model.cleargrads();
  for (const double g : {1.0, 2.0, 4.0}) scaler.scale(training.model.loss({g, 2 * g, 3 * g})).backward();
  scaler.step(training.optimizer);
  scaler.update();
  CHECK(training.model.values() == Values{-7, -14, -21});
}

TEST_CASE("training with autocast and a scaler comes near float32") {
  const Values expected = train_float32(10);
  for (const bool clips : {false, true}) {
    SmallNet model;
    model.to(test_device());
    optimizers::MomentumSGD optimizer(0.05);
    optimizer.setup(model);
    if (clips) optimizer.add_hook(optimizer_hooks::GradientClipping(100));  // that never clips
    GradScaler scaler({.growth_interval = 4});
    Values losses;
    for (int i = 0; i < 10; ++i) {
      Variable loss;
      {
        const amp::Autocast autocast({.dtype = Dtype::float16});
        loss = loss_of(model, images());
      }
      losses.push_back(loss.item<double>());
      model.cleargrads();
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
    }
    CHECK(optimizer.t() == 10);
    CHECK(scaler.get_scale() == 262144);
    check_same_training(losses, expected);
  }
}

TEST_CASE("a penalty on gradients") {
  const auto train = [](GradScaler& scaler) {
    ScaledTraining training;
    training.model.w.array().copy_from(array<float>({1, -2, 0.5f}, test_device()));
    for (int i = 0; i < 3; ++i) {
      Parameter& w = training.model.w;
      const Variable loss = F::sum(w * w * array<float>({0.25f, 0.5f, 1}, test_device()));
      const Variables scaled = grad({scaler.scale(loss)}, {w}, {.enable_double_backprop = true});
      const Variable gradient = scaled[0] * (1 / scaler.get_scale());
      const Variable total = loss + F::sum(gradient * gradient) * 0.1;
      training.model.cleargrads();
      scaler.scale(total).backward();
      scaler.step(training.optimizer);
      scaler.update();
    }
    return training.model.values();
  };
  GradScaler scaler, off({.enabled = false});
  const Values expected = train(off);
  CHECK(train(scaler) == expected);  // the scale is a power of two
  CHECK(std::abs(expected[1]) < 2);
}

TEST_CASE("losses in lists, of 16 bits and of 64") {
  GradScaler scaler({.init_scale = 32768});
  const auto one = [](Dtype dtype) { return Variable(full({}, 3, dtype, test_device())); };
  const Variables scaled = scaler.scale(Variables{one(Dtype::float16), one(Dtype::float32), one(Dtype::float64)});
  CHECK(scaled[0].dtype() == Dtype::float32);
  CHECK(scaled[1].dtype() == Dtype::float32);
  CHECK(scaled[2].dtype() == Dtype::float64);
  for (const Variable& loss : scaled) CHECK(loss.item<double>() == 98304);
}

TEST_CASE("float16 parameters with float32 masters keep gradients that float16 cannot hold") {
  GradScaler scaler({.init_scale = 32768});
  ScaledTraining training(Dtype::float16);
  training.optimizer.use_fp32_update();
  Parameter& w = training.model.w;
  const auto backward = [&] {
    training.model.cleargrads();
    scaler.scale(F::sum(w * 0x1p-13 * 0x1p-13)).backward();
  };
  backward();
  CHECK_THROWS_AS(scaler.unscale_(training.optimizer), ValueError);
  try {
    scaler.unscale_(training.optimizer);
  } catch (const ValueError& error) {
    const std::string what = error.what();
    CHECK(what.starts_with("amp::GradScaler::unscale_: the gradient of /w is float16"));
    CHECK(what.find("Optimizer::loss_scaling") != std::string::npos);
    CHECK(what.find("use_fp32_update") != std::string::npos);
  }
  scaler.step(training.optimizer);
  scaler.update();
  CHECK(w.update_rule().state("fp32_param").to_vector<double>() == Values(3, -0x1p-26));

  // Without scaling they are zero.
  training.model.cleargrads();
  F::sum(w * 0x1p-13 * 0x1p-13).backward();
  CHECK(w.grad().to_vector<double>() == Values(3, 0));
}

TEST_CASE("a scale that a float16 loss cannot take backs off") {
  GradScaler scaler;
  ScaledTraining training(Dtype::float16);
  const Variable scaled = scaler.scale(training.model.loss({0, 0, 0}) + 2);
  CHECK(scaled.item<double>() == 131072);
  training.iterate(scaler, {1, 1, 1});  // 65536 is no float16
  CHECK(training.model.values() == Values(3));
  CHECK(scaler.get_scale() == 32768);
  training.iterate(scaler, {1, 1, 1});
  CHECK(training.model.values() == Values(3, -1));
}

TEST_CASE("bfloat16 gradients may be unscaled") {
  GradScaler scaler;
  ScaledTraining training(Dtype::bfloat16);
  training.backward(scaler, {1, 2, -3});
  scaler.unscale_(training.optimizer);
  CHECK(training.model.w.grad().to_vector<double>() == Values{1, 2, -3});
  scaler.step(training.optimizer);
  CHECK(training.model.values() == Values{-1, -2, 3});
}

TEST_CASE("calls at the wrong time are refused") {
  GradScaler scaler;
  ScaledTraining training;
  optimizers::SGD& optimizer = training.optimizer;
  const std::string no_scale = ": there is no scale yet; call scale(loss) and its backward() earlier in the iteration";
  CHECK_THROWS_WITH_AS(scaler.step(optimizer), ("amp::GradScaler::step" + no_scale).c_str(), StateError);
  CHECK_THROWS_WITH_AS(scaler.unscale_(optimizer), ("amp::GradScaler::unscale_" + no_scale).c_str(), StateError);
  CHECK_THROWS_WITH_AS(scaler.update(), ("amp::GradScaler::update" + no_scale).c_str(), StateError);
  CHECK_THROWS_AS(scaler.update(2), StateError);

  training.model.cleargrads();
  const Variable scaled = scaler.scale(training.model.loss({1, 1, 1}));
  CHECK_THROWS_WITH_AS(
      scaler.step(optimizer),
      "amp::GradScaler::step: no parameter of this SGD has a gradient; call scale(loss).backward() first", StateError);
  const char* const unchecked =
      "amp::GradScaler::update: no gradients were checked since the last one; call step(optimizer) first";
  CHECK_THROWS_WITH_AS(scaler.update(), unchecked, StateError);
  scaled.backward();
  scaler.unscale_(optimizer);
  CHECK_THROWS_WITH_AS(scaler.unscale_(optimizer),
                       "amp::GradScaler::unscale_: already called for this SGD since the last update()", StateError);
  scaler.step(optimizer);
  CHECK_THROWS_WITH_AS(scaler.step(optimizer),
                       "amp::GradScaler::step: already called for this SGD since the last update()", StateError);
  CHECK_THROWS_WITH_AS(scaler.unscale_(optimizer),
                       "amp::GradScaler::unscale_: called after step() of this SGD since the last update()",
                       StateError);
  scaler.update();
  CHECK_THROWS_WITH_AS(scaler.update(), unchecked, StateError);
  CHECK(training.model.values() == Values(3, -1));
  training.iterate(scaler, {1, 1, 1});  // none of that did harm
  CHECK(training.model.values() == Values(3, -2));

  training.backward(scaler, {1, 1, 1});
  scaler.unscale_(optimizer);
  scaler.update();  // a check without a step
  CHECK(scaler.get_growth_tracker() == 3);

  optimizer.set_loss_scale(8);
  training.backward(scaler, {1, 1, 1});
  CHECK_THROWS_WITH_AS(scaler.step(optimizer),
                       "amp::GradScaler::step: this SGD scales the loss itself; call its no_loss_scaling() first",
                       StateError);
}

TEST_CASE("options out of their range are refused") {
  CHECK_THROWS_WITH_AS(GradScaler({.growth_factor = 1}), "amp::GradScaler: growth_factor is 1 but must be above 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(GradScaler({.backoff_factor = 1}),
                       "amp::GradScaler: backoff_factor is 1 but must be between 0 and 1", ValueError);
  CHECK_THROWS_AS(GradScaler({.init_scale = 0}), ValueError);
  CHECK_THROWS_AS(GradScaler({.growth_interval = 0}), ValueError);
  GradScaler scaler;
  CHECK_THROWS_AS(scaler.set_growth_factor(0.5), ValueError);
  CHECK_THROWS_AS(scaler.set_backoff_factor(2), ValueError);
  CHECK_THROWS_WITH_AS(scaler.set_growth_interval(-3),
                       "amp::GradScaler::set_growth_interval: growth_interval is -3 but must be at least 1",
                       ValueError);
  CHECK(scaler.get_growth_factor() == 2);
  CHECK(scaler.get_backoff_factor() == 0.5);
  CHECK(scaler.get_growth_interval() == 2000);
  CHECK(scaler.is_enabled());
}

TEST_CASE("a disabled one lets everything pass") {
  GradScaler scaler({.enabled = false});
  ScaledTraining training;
  CHECK_FALSE(scaler.is_enabled());
  const Variable loss = training.model.loss({1, 2, 3});
  CHECK(is_same(scaler.scale(loss), loss));
  training.model.cleargrads();
  loss.backward();
  for (int i = 0; i < 2; ++i) scaler.unscale_(training.optimizer);
  CHECK(training.model.w.grad().to_vector<double>() == Values{1, 2, 3});
  for (int i = 0; i < 2; ++i) scaler.step(training.optimizer);
  CHECK(training.model.values() == Values{-2, -4, -6});
  scaler.update();
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.get_growth_tracker() == 0);
}

TEST_CASE("snapshots go on where they were") {
  const ScratchDirectory scratch;
  const std::string file = scratch / "scaler.npz", empty = scratch / "empty.npz";
  GradScaler scaler({.init_scale = 1024, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 3}),
      off({.enabled = false});
  ScaledTraining training;
  training.iterate(scaler, {kInfinity, 1, 1});
  for (int i = 0; i < 2; ++i) training.iterate(scaler, {1, 1, 1});
  serializers::save_npz(file, scaler);
  serializers::save_npz(empty, off);

  // One that has no scale yet, and one that has.
  for (const bool used : {false, true}) {
    CAPTURE(used);
    GradScaler loaded;
    ScaledTraining other;
    if (used) other.iterate(loaded, {1, 1, 1});
    serializers::load_npz(file, loaded);
    CHECK(loaded.get_scale() == 256);
    CHECK(loaded.get_growth_tracker() == 2);
    CHECK(loaded.get_growth_factor() == 4);
    CHECK(loaded.get_backoff_factor() == 0.25);
    CHECK(loaded.get_growth_interval() == 3);
    other.iterate(loaded, {1, 1, 1});
    CHECK(loaded.get_scale() == 1024);
    CHECK(loaded.get_growth_tracker() == 0);
  }
  serializers::load_npz(file, off);
  CHECK(off.get_scale() == 1);
  CHECK_THROWS_WITH_AS(serializers::load_npz(empty, scaler),
                       "amp::GradScaler::serialize: there is no state to read; a disabled GradScaler writes none",
                       StateError);
  CHECK(scaler.get_scale() == 256);
}

}  // namespace
}  // namespace kusari::testing
