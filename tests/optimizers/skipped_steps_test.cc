#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/optimizers/loss_scaling.h"

namespace kusari::testing {
namespace {

TEST_CASE("a gradient that is not finite skips exactly its step, in every optimizer and dtype") {
  const QuietLog quiet;
  const int kSteps = 7;
  std::mt19937 random(1);
  for (const auto& [name, make] : all_optimizers()) {
    CAPTURE(name);
    for (const Storage& storage : kStorages) {
      CAPTURE(storage.text);
      Setup clean(make, storage);
      std::vector<std::vector<Values>> expected = {state_of(clean.model, *clean.optimizer)};
      for (int i = 0; i < kSteps; ++i) {
        clean.optimizer->update(clean.model, input(i, storage.dtype));
        expected.push_back(state_of(clean.model, *clean.optimizer));
      }
      for (const Scaling& scaling : kScalings) {
        CAPTURE(scaling.text);
        const int at = static_cast<int>(random() % kSteps);
        const double injected = random() % 2 == 0 ? kInfinity : std::nan("");
        CAPTURE(at);
        Setup scaled(make, storage, [&](Optimizer& o) { o.loss_scaling(scaling.options); });
        for (int i = 0; i < kSteps; ++i) {
          if (i == at) {
            scaled.optimizer->update(scaled.model, input(i, storage.dtype, injected));
            CHECK(!scaled.optimizer->is_safe_to_update());
            CHECK(scaled.model.a.to_vector<double>() == expected[static_cast<size_t>(i)].front());
            // The first step makes states and masters, even if it is skipped.
            if (i > 0) CHECK(state_of(scaled.model, *scaled.optimizer) == expected[static_cast<size_t>(i)]);
          }
          scaled.optimizer->update(scaled.model, input(i, storage.dtype));
        }
        CHECK(scaled.optimizer->is_safe_to_update());
        CHECK(state_of(scaled.model, *scaled.optimizer) == expected.back());
        CHECK(scaled.optimizer->skipped_steps() == 1);
      }
    }
  }
}

TEST_CASE("nobody reads the count of steps: the numbers of steps after a skipped one are those of the device") {
  for (const std::string name :
       {"Adam", "AMSGrad", "AdaBound", "AMSBound", "MSVAG", "DecoupledAdamW", "LAMB", "RAdam", "NAdam"}) {
    CAPTURE(name);
    const auto found = std::find_if(all_optimizers().begin(), all_optimizers().end(),
                                    [&](const auto& entry) { return entry.first == name; });
    Setup clean(found->second, kStorages[0]), skipping(found->second, kStorages[0]);
    skipping.optimizer->loss_scaling({.growth = LossScaleGrowth::stepwise});
    for (int i = 0; i < 6; ++i) {
      clean.optimizer->update(clean.model, input(i, Dtype::float32));
      for (int again = 0; again < i % 3; ++again) {
        skipping.optimizer->update(skipping.model, input(i, Dtype::float32, -kInfinity));
      }
      skipping.optimizer->update(skipping.model, input(i, Dtype::float32));
    }
    CHECK(skipping.model.a.to_vector<double>() == clean.model.a.to_vector<double>());
    CHECK(skipping.optimizer->skipped_steps() == 6);
    CHECK(skipping.optimizer->t() == 6);
  }
}

/// The rules of loss scaling, told step by step.
struct NaiveScale {
  LossScalingOptions options;
  double scale;
  int64_t steps = 0, skipped = 0, clean = 0;

  explicit NaiveScale(const LossScalingOptions& o) : options{o} {
    scale = o.scale ? *o.scale : o.initial_scale.value_or(o.growth == LossScaleGrowth::stepwise ? 65536 : 32768);
  }
  void step(bool is_finite) {
    ++(is_finite ? steps : skipped);
    if (options.scale) return;
    clean = is_finite ? clean + 1 : 0;
    if (!is_finite) scale *= options.backoff_factor;
    if (options.growth == LossScaleGrowth::stepwise) {
      if (clean == static_cast<int64_t>(options.interval)) {
        scale *= options.growth_factor;
        clean = 0;
      }
      return;
    }
    if (is_finite) scale *= skipped == 0 ? 2 : std::pow(options.growth_factor, 1 / options.interval);
    scale = std::min(65504.0, std::max(1.0, scale));
  }
};

TEST_CASE("random sequences of overflows follow the rules") {
  const QuietLog quiet;
  const LossScalingOptions rules[] = {
      {.scale = 8},
      {.interval = 5},
      {.interval = 1000, .initial_scale = 4, .growth_factor = 3, .backoff_factor = 0.25},
      {.interval = 3, .growth = LossScaleGrowth::stepwise},
      {.interval = 1, .growth = LossScaleGrowth::stepwise, .initial_scale = 2, .growth_factor = 4},
      {.interval = 4, .growth = LossScaleGrowth::stepwise, .growth_factor = 1.5, .backoff_factor = 0.75},
  };
  std::mt19937 random(7);
  for (int round = 0; round < 24; ++round) {
    CAPTURE(round);
    const LossScalingOptions& options = rules[static_cast<size_t>(round) % std::size(rules)];
    NaiveScale naive(options);
    Setup setup([] { return std::make_unique<optimizers::SGD>(0.25); }, kStorages[0],
                [&](Optimizer& o) { o.loss_scaling(options); });
    const unsigned one_in = 2 + random() % 6;
    double moved = 0;
    for (int i = 0; i < 40; ++i) {
      const bool is_finite = random() % one_in != 0;
      const double x = is_finite ? 0.5 : (random() % 2 == 0 ? kInfinity : std::nan(""));
      setup.optimizer->update(setup.model, Variable(full({5, 7}, x, Dtype::float32, test_device()), false));
      naive.step(is_finite);
      if (is_finite) moved += 0.25 * 0.5;
      if (random() % 4 != 0) continue;  // the host seldom looks
      CHECK(setup.optimizer->loss_scale() == doctest::Approx(naive.scale).epsilon(1e-12));
      CHECK(setup.optimizer->t() == naive.steps);
      CHECK(setup.optimizer->skipped_steps() == naive.skipped);
      CHECK(setup.optimizer->is_safe_to_update() == is_finite);
    }
    CHECK(setup.model.a.update_rule().t() == naive.steps);
    CHECK(setup.model.a.to_vector<double>()[0] == doctest::Approx(0.5 - moved).epsilon(1e-5));
  }
}

TEST_CASE("no hook sees scaled gradients") {
  using namespace optimizer_hooks;
  const std::pair<std::string, OptimizerHook> hooks[] = {
      {"WeightDecay", WeightDecay(0.25)},
      {"Lasso", Lasso(0.125)},
      {"GradientClipping", GradientClipping(0.5)},
      {"GradientHardClipping", GradientHardClipping(-0.25, 0.125)},
      {"GradientLARS", GradientLARS({.weight_decay = 0.1})},
      {"GradientNoise", GradientNoise(0.01)},
  };
  for (const auto& [hook_name, hook] : hooks) {
    CAPTURE(hook_name);
    for (const Storage& storage : kStorages) {
      CAPTURE(storage.text);
      for (const bool of_rule : {false, true}) {
        CAPTURE(of_rule);
        const auto run = [&, &hook_of = hook](const LossScalingOptions* scaling) {
          random::seed(3);
          Setup setup([] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.eps = 1e-3}); }, storage);
          if (scaling != nullptr) setup.optimizer->loss_scaling(*scaling);
          std::vector<Values> seen;
          if (of_rule) {
            setup.model.a.update_rule().add_hook(hook_of);
            setup.model.a.update_rule().add_hook([&](Parameter& p) { seen.push_back(p.grad().to_vector<double>()); },
                                                 "look", HookTiming::post);
          } else {
            setup.optimizer->add_hook(hook_of);
            setup.optimizer->add_hook([&](Parameter& p) { seen.push_back(p.grad().to_vector<double>()); }, "look",
                                      HookTiming::post);
          }
          for (int i = 0; i < 3; ++i) setup.optimizer->update(setup.model, input(i, storage.dtype));
          std::vector<Values> state = state_of(setup.model, *setup.optimizer);
          state.insert(state.end(), seen.begin(), seen.end());
          return state;
        };
        const std::vector<Values> expected = run(nullptr);
        for (const Scaling& scaling : kScalings) {
          CAPTURE(scaling.text);
          CHECK(run(&scaling.options) == expected);
        }
      }
    }
  }
}

TEST_CASE("hooks that run on a skipped step leave no trace") {
  const QuietLog quiet;
  using namespace optimizer_hooks;
  for (const Storage& storage : kStorages) {
    CAPTURE(storage.text);
    const auto run = [&](bool overflows) {
      Setup setup([] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.eps = 1e-3}); }, storage,
                  [](Optimizer& o) {
                    o.set_loss_scale(64);
                    o.add_hook(WeightDecay(0.25));
                    o.add_hook(GradientClipping(0.5));
                    o.add_hook(GradientLARS());
                  });
      for (int i = 0; i < 4; ++i) {
        if (overflows && i == 2) setup.optimizer->update(setup.model, input(i, storage.dtype, kInfinity));
        setup.optimizer->update(setup.model, input(i, storage.dtype));
      }
      return state_of(setup.model, *setup.optimizer);
    };
    CHECK(run(true) == run(false));
  }
}

TEST_CASE("the noise of gradients shrinks with the steps that were done") {
  const auto run = [](int skipped) {
    Setup setup([] { return std::make_unique<optimizers::SGD>(1); }, kStorages[0],
                [](Optimizer& o) { o.loss_scaling({.growth = LossScaleGrowth::stepwise}); });
    for (int i = 0; i < skipped; ++i) setup.optimizer->update(setup.model, input(i, Dtype::float32, kInfinity));
    for (int i = 0; i < 2; ++i) setup.optimizer->update(setup.model, input(i, Dtype::float32));
    setup.optimizer->add_hook(optimizer_hooks::GradientNoise(0.01));
    random::seed(5);
    setup.optimizer->update(setup.model, input(2, Dtype::float32));
    return setup.model.a.to_vector<double>();
  };
  CHECK(run(3) == run(0));
}

}  // namespace
}  // namespace kusari::testing
