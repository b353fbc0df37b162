#include "kusari/optimizers/loss_scale.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/tests/optimizers/loss_scaling.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using detail::OptimizerAccess;

TEST_CASE("gradients too small for float16 survive loss scaling") {
  for (const bool is_scaled : {false, true}) {
    Setup setup([] { return std::make_unique<optimizers::SGD>(1); }, kStorages[2]);
    if (is_scaled) setup.optimizer->set_loss_scale(4096);
    setup.model.a.array().fill(0);
    const Variable x(full({5, 7}, 0x1p-13, Dtype::float16, test_device()), false);
    setup.optimizer->update([&] { return functions::sum(setup.model.a * x * x); });
    const Values master = setup.model.a.update_rule().state("fp32_param").to_vector<double>();
    CHECK(master == Values(35, is_scaled ? -0x1p-26 : 0));
  }
}

TEST_CASE("a rule's clock stands while it is disabled, whatever is skipped meanwhile") {
  const QuietLog quiet;
  Setup setup([] { return std::make_unique<optimizers::Adam>(); }, kStorages[0],
              [](Optimizer& o) { o.set_loss_scale(8); });
  UpdateRule &a = setup.model.a.update_rule(), &b = setup.model.b.update_rule();
  const auto step = [&](bool is_finite) {
    setup.optimizer->update(setup.model, input(0, Dtype::float32, is_finite ? 0 : kInfinity));
  };
  step(true);
  step(false);
  a.enabled = false;
  step(false);
  step(true);
  step(false);
  a.enabled = true;
  step(false);
  step(true);
  CHECK(a.t() == 2);
  CHECK(b.t() == 3);
  CHECK(setup.optimizer->t() == 3);
  CHECK(setup.optimizer->skipped_steps() == 4);
  setup.optimizer->no_loss_scaling();
  CHECK(!setup.optimizer->has_loss_scaling());
  CHECK(setup.optimizer->loss_scale() == 1);
  step(true);
  setup.optimizer->loss_scaling();
  step(false);
  step(true);
  CHECK(a.t() == 4);
  CHECK(setup.optimizer->t() == 5);
  CHECK(setup.optimizer->skipped_steps() == 5);
}

TEST_CASE("a resumed run goes on with its scale, its counters and its masters") {
  const QuietLog quiet;
  const ScratchDirectory scratch;
  const std::function<OptimizerPtr()> make = [] {
    return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.1, .eps = 1e-3});
  };
  for (const Storage& storage : kStorages) {
    CAPTURE(storage.text);
    for (const Scaling& scaling : kScalings) {
      CAPTURE(scaling.text);
      const auto run = [&](bool is_interrupted) {
        const auto prepare = [&](Optimizer& o) { o.loss_scaling(scaling.options); };
        auto setup = std::make_unique<Setup>(make, storage, prepare);
        for (int i = 0; i < 7; ++i) {
          if (is_interrupted && i == 4) {
            serializers::save_npz(scratch / "model.npz", setup->model);
            serializers::save_npz(scratch / "optimizer.npz", *setup->optimizer);
            setup = std::make_unique<Setup>(make, storage, prepare);
            setup->optimizer->update(setup->model, input(9, storage.dtype, kInfinity));  // what is read replaces all
            setup->optimizer->update(setup->model, input(9, storage.dtype));
            serializers::load_npz(scratch / "model.npz", setup->model);
            serializers::load_npz(scratch / "optimizer.npz", *setup->optimizer);
          }
          setup->optimizer->update(setup->model, input(i, storage.dtype, i == 2 || i == 5 ? kInfinity : 0));
        }
        std::vector<Values> state = state_of(setup->model, *setup->optimizer);
        state.push_back({setup->optimizer->loss_scale(), static_cast<double>(setup->optimizer->skipped_steps())});
        return state;
      };
      CHECK(run(true) == run(false));
    }
  }
}

TEST_CASE("snapshots without growth counter, skipped steps and masters are read") {
  const ScratchDirectory scratch;
  const std::function<OptimizerPtr()> make = [] { return std::make_unique<optimizers::SGD>(0.25); };
  const auto prepare = [](Optimizer& o) { o.loss_scaling({.interval = 10}); };
  Setup old(make, kStorages[2], prepare), fresh(make, kStorages[2], prepare);
  old.optimizer->update(old.model, input(0, Dtype::float16, kInfinity));
  old.optimizer->update(old.model, input(0, Dtype::float16));
  fresh.optimizer->update(fresh.model, input(1, Dtype::float16));
  serializers::save_npz(scratch / "optimizer.npz", *old.optimizer);
  const serializers::NpzReader npz(scratch / "optimizer.npz");
  serializers::NpzDictionary kept;
  for (const std::string& key : npz.keys()) {
    if (key.find("fp32_param") == std::string::npos && key != "skipped_steps" && key != "loss_scale_growth_tracker") {
      kept.emplace_back(key, npz.value(key));
    }
  }
  serializers::save_npz_dictionary(scratch / "old.npz", kept);
  serializers::load_npz(scratch / "old.npz", *fresh.optimizer);
  CHECK(fresh.optimizer->loss_scale() == old.optimizer->loss_scale());
  CHECK(fresh.optimizer->t() == 1);
  CHECK(fresh.optimizer->skipped_steps() == 0);
  CHECK(!fresh.model.a.update_rule().state("fp32_param").is_defined());
  fresh.model.a.array().fill(0);
  fresh.optimizer->update(fresh.model, input(0, Dtype::float16));  // from the parameter, not from what was before
  // The scale is no power of two: float16 rounds the seed.
  CHECK(fresh.model.a.to_vector<double>()[0] ==
        doctest::Approx(-0.25 * input(0, Dtype::float16).to_vector<double>()[0]).epsilon(2e-3));
}

TEST_CASE("states and masters follow a parameter that changes its dtype") {
  Setup setup([] { return std::make_unique<optimizers::MomentumSGD>(0.5, 0.5); }, kStorages[0]);
  setup.optimizer->use_fp32_update();
  UpdateRule& rule = setup.model.a.update_rule();
  const auto step = [&] { setup.optimizer->update(setup.model, input(0, setup.model.a.dtype())); };
  step();
  CHECK(!rule.state("fp32_param").is_defined());
  setup.model.to(Dtype::float16);
  step();
  CHECK(rule.state("fp32_param").dtype() == Dtype::float32);
  CHECK(rule.state("v").dtype() == Dtype::float32);
  setup.model.to(Dtype::bfloat16);
  step();
  const Values master = rule.state("fp32_param").to_vector<double>();
  CHECK(setup.model.a.dtype() == Dtype::bfloat16);
  CHECK(setup.model.a.to_vector<double>() == rule.state("fp32_param").astype(Dtype::bfloat16).to_vector<double>());
  setup.model.to(Dtype::float32);
  setup.model.a.array().fill(1);
  step();
  CHECK(!rule.state("fp32_param").is_defined());
  setup.optimizer->use_fp32_update(false);
  setup.model.to(Dtype::float16);
  step();
  CHECK(rule.state("v").dtype() == Dtype::float16);
  // v of x: -x/2, -3x/4, -7x/8, ...; the parameter began at 1 before the last two.
  const double x = input(0, Dtype::float32).to_vector<double>()[0];
  CHECK(setup.model.a.to_vector<double>()[0] == doctest::Approx(1 - x * (15. / 16 + 31. / 32)).epsilon(2e-3));
}

TEST_CASE("backward, the scope of the forward pass, and steps without gradients") {
  Setup setup([] { return std::make_unique<optimizers::SGD>(1); }, kStorages[0]);
  Optimizer& optimizer = *setup.optimizer;
  const Variable x = input(0, Dtype::float32);
  const Values values = x.to_vector<double>();
  SUBCASE("backward scales, update divides") {
    optimizer.set_loss_scale(16);
    setup.model.cleargrads();
    optimizer.backward(setup.model(x));
    CHECK(setup.model.a.grad().to_vector<double>()[0] == 16 * values[0]);
    CHECK(setup.model.a.device_loss_scale().item<double>() == 16);
    CHECK(setup.model.a.loss_scale() == 1);
    optimizer.update();
    CHECK(setup.model.a.to_vector<double>()[0] == 0.5f - values[0]);
  }
  SUBCASE("a gradient carries the scale of its backward, not of today") {
    optimizer.loss_scaling({.interval = 1, .growth = LossScaleGrowth::stepwise, .initial_scale = 4});
    setup.model.cleargrads();
    optimizer.backward(setup.model(x));
    optimizer.update();
    optimizer.update();
    CHECK(optimizer.loss_scale() == 16);
    CHECK(setup.model.a.to_vector<double>()[0] == 0.5 - 2 * values[0]);
  }
  SUBCASE("a scale that the user chose") {
    setup.model.cleargrads();
    setup.model(x).backward({.loss_scale = 8});
    optimizer.update();
    CHECK(setup.model.a.to_vector<double>()[0] == 0.5 - values[0]);
  }
  SUBCASE("parameters without gradients") {
    optimizer.loss_scaling();
    setup.model.cleargrads();
    optimizer.backward(functions::sum(setup.model.a * x));
    optimizer.update();
    CHECK(setup.model.b.to_vector<double>()[0] == 0.5);
    CHECK(setup.model.a.to_vector<double>()[0] == 0.5 - values[0]);
  }
  SUBCASE("a hook may take gradients away or lay them out anew") {
    optimizer.set_loss_scale(2);
    optimizer.add_hook(
        [](Parameter& p) {
          if (p.name() == "b") p.cleargrad();
          if (p.name() == "a") p.set_grad(p.grad().transpose().copy().transpose());
        },
        "rearrange");
    optimizer.update(setup.model, x);
    CHECK(setup.model.b.to_vector<double>()[0] == 0.5);
    const Values a = setup.model.a.to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == 0.5 + static_cast<double>(i % 11) / 16 - values[i]);
  }
  SUBCASE("the scope lives while the loss function runs") {
    int alive = 0, seen = 0;
    optimizer.set_forward_scope([&] {
      ++alive;
      return Optimizer::ForwardScope(&alive, [](int* count) { --*count; });
    });
    optimizer.update([&] {
      seen = alive;
      return setup.model(x);
    });
    CHECK(seen == 1);
    CHECK(alive == 0);
    optimizer.set_forward_scope(nullptr);
    optimizer.update([&] {
      seen = alive;
      return setup.model(x);
    });
    CHECK(seen == 0);
  }
  SUBCASE("errors") {
    CHECK_THROWS_AS(optimizer.loss_scaling({.growth_factor = 0}), ValueError);
    CHECK_THROWS_AS(optimizer.loss_scaling({.backoff_factor = -1}), ValueError);
    CHECK_THROWS_WITH_AS(optimizer.loss_scaling({.initial_scale = 0}),
                         "SGD::loss_scaling: initial_scale is 0: it must be positive and finite", ValueError);
  }
}

TEST_CASE("steps whose loss was scaled elsewhere") {
  for (const Storage& storage : kStorages) {
    CAPTURE(storage.text);
    Setup clean([] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.eps = 1e-3}); }, storage);
    Setup other([] { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.eps = 1e-3}); }, storage);
    const Array scale = full({}, 32, Dtype::float64, test_device());
    other.model.cleargrads();
    CHECK(!OptimizerAccess::squared_norm(*other.optimizer).is_defined());
    const auto scaled_gradients = [&](int i, double injected) {
      other.model.cleargrads();
      (other.model(input(i, storage.dtype, injected)) * 32.0).backward();
      return OptimizerAccess::squared_norm(*other.optimizer);
    };
    for (int i = 0; i < 5; ++i) {
      clean.optimizer->update(clean.model, input(i, storage.dtype));
      if (i % 2 == 1) OptimizerAccess::update(*other.optimizer, scaled_gradients(i, kInfinity), scale);
      const Array guard = scaled_gradients(i, 0);
      if (i % 2 == 0) {
        OptimizerAccess::update(*other.optimizer, guard, scale);
      } else {
        OptimizerAccess::unscale(*other.optimizer, scale);
        const Values gradient = other.model.a.grad().to_vector<double>();
        CHECK(gradient == input(i, storage.dtype).to_vector<double>());
        OptimizerAccess::update(*other.optimizer, guard, Array());
      }
    }
    CHECK(state_of(other.model, *other.optimizer) == state_of(clean.model, *clean.optimizer));
    CHECK(other.optimizer->skipped_steps() == 2);
    CHECK(other.optimizer->is_safe_to_update());
    other.optimizer->loss_scaling();
    CHECK_THROWS_AS(OptimizerAccess::update(*other.optimizer, scale, scale), StateError);
  }
}

TEST_CASE("a loss scale between host and device") {
  LossScale scale({.growth_factor = 2, .backoff_factor = 0.5, .growth_interval = 2, .min = 1, .max = 64, .warmup = 0},
                  8);
  CHECK(scale.scale() == 8);
  const Array view = scale.scale_on(test_device());
  const Array fine = full({}, 1, Dtype::float64, test_device());
  const Array overflow = full({}, kInfinity, Dtype::float64, test_device());
  scale.update(fine);
  CHECK(scale.growth_tracker() == 1);
  scale.update(fine);
  CHECK(view.item<double>() == 16);
  scale.update(overflow);
  CHECK(scale.scale() == 8);
  CHECK(scale.skipped() == 1);
  CHECK(!scale.is_finite());
  scale.set(64);
  CHECK(view.item<double>() == 64);
  scale.update(fine);
  scale.update(fine);
  CHECK(scale.scale() == 64);
  CHECK(scale.is_finite());
  kernels::LossScaleState state = scale.state();
  state.growth_tracker = 1;
  state.scale = 2;
  scale.set_state(state);
  scale.update(fine);
  CHECK(scale.scale() == 4);
  // A scale grows no further than float32 goes.
  LossScale large(
      {.growth_factor = 2, .backoff_factor = 0.5, .growth_interval = 1, .min = 1, .max = kInfinity, .warmup = 0},
      0x1p126);
  for (int i = 0; i < 3; ++i) large.update(fine);
  CHECK(large.scale() == 0x1p127);
}

}  // namespace
}  // namespace kusari::testing
