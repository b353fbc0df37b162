#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/optimizers/loss_scaling.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

const Storage& kMasters = kStorages[2];  // float16 with masters

Variable halves(Dtype dtype) { return Variable(full({5, 7}, 0.5, dtype, test_device()), false); }
double first_of(const Array& array) { return array.to_vector<double>()[0]; }
double master_of(const Parameter& parameter) { return first_of(parameter.update_rule().state("fp32_param")); }
OptimizerPtr make_sgd() { return std::make_unique<optimizers::SGD>(0.5); }
OptimizerPtr make_adam() {
  return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.1, .eps = 1e-3});
}

TEST_CASE("gradients are divided by the scale as a 16-bit loss holds it") {
  for (const bool has_hook : {false, true}) {
    Setup setup(make_sgd, kMasters, [&](Optimizer& o) {
      o.loss_scaling({.scale = 1000.3});
      if (has_hook) o.add_hook(optimizer_hooks::WeightDecay(0));
    });
    setup.model.cleargrads();
    setup.optimizer->backward(setup.model(halves(Dtype::float16)));
    CHECK(setup.model.a.device_loss_scale().item<double>() == 1000.5);
    setup.optimizer->update();
    CHECK(master_of(setup.model.a) == 0.5 - 0.25);
    // A float32 loss holds it well enough.
    setup.model.cleargrads();
    setup.optimizer->backward(autograd::cast(setup.model(halves(Dtype::float16)), Dtype::float32));
    CHECK(setup.model.a.device_loss_scale().item<double>() == 1000.3);
    CHECK(setup.optimizer->loss_scale() == 1000.3);
  }
}

TEST_CASE("losses of several dtypes add up in one step") {
  Setup setup(make_sgd, kMasters, [](Optimizer& o) { o.loss_scaling({.scale = 1000.3}); });
  setup.model.cleargrads();
  setup.optimizer->backward(setup.model(halves(Dtype::float16)));
  setup.optimizer->backward(autograd::cast(setup.model(halves(Dtype::float16)), Dtype::float32));
  setup.optimizer->update();
  CHECK(master_of(setup.model.a) == doctest::Approx(0.5 - 0.5).epsilon(1e-3));
}

TEST_CASE("a backward pass without a loss scale adds to gradients that have one") {
  for (const double host_scale : {0., 8.}) {
    Setup setup(make_sgd, kStorages[0], [](Optimizer& o) { o.loss_scaling({.scale = 64}); });
    setup.model.cleargrads();
    const Variable x = halves(Dtype::float32);
    if (host_scale != 0) {
      setup.model(x).backward({.loss_scale = host_scale});
    } else {
      setup.optimizer->backward(setup.model(x));
    }
    setup.model(x).backward();
    setup.optimizer->update();
    CHECK(first_of(setup.model.a.array()) == 0.5 - 2 * 0.25);
  }
  // And a scale ends with its gradient, of any leaf.
  Variable leaf(full({}, 3, Dtype::float32, test_device()));
  (leaf * 2.0).backward({.loss_scale = 8});
  CHECK(leaf.loss_scale() == 8);
  leaf.cleargrad();
  CHECK(leaf.loss_scale() == 1);
  (leaf * 2.0).backward();
  (leaf * 2.0).backward();
  CHECK(leaf.grad().item<double>() == 4);
}

TEST_CASE("update() twice takes the same gradients twice, whatever became of the scale") {
  Setup setup(make_sgd, kStorages[0], [](Optimizer& o) { o.loss_scaling({.interval = 1, .initial_scale = 16}); });
  setup.model.cleargrads();
  setup.optimizer->backward(setup.model(halves(Dtype::float32)));
  setup.optimizer->update();
  setup.optimizer->update();
  CHECK(first_of(setup.model.a.array()) == 0.5 - 2 * 0.25);
  CHECK(setup.optimizer->loss_scale() == 64);
}

TEST_CASE("a float32 master follows a parameter that is written, and only then") {
  const ScratchDirectory scratch;
  Setup setup(make_sgd, kMasters, [](Optimizer& o) { o.set_loss_scale(64); });
  Model& model = setup.model;
  const Variable small(full({5, 7}, 1.0 / 8192, Dtype::float16, test_device()), false);  // lost in float16
  const auto step = [&] { setup.optimizer->update(model, small); };
  serializers::save_npz(scratch / "first.npz", model);
  step();
  step();
  CHECK(master_of(model.a) == 0.5 - 1.0 / 8192);
  CHECK(first_of(model.a.array()) == 0.5);
  SUBCASE("by copydata and fill") {
    model.a.array().fill(0.25);
    step();
    CHECK(master_of(model.a) == 0.25 - 0.5 / 8192);
    CHECK(master_of(model.c) == 0.5 - 1.5);
  }
  SUBCASE("with the same values") {
    serializers::load_npz(scratch / "first.npz", model);
    step();
    CHECK(master_of(model.a) == 0.5 - 1.5 / 8192);  // it had not changed
    CHECK(master_of(model.c) == 0.5 - 0.5);         // it had
  }
  SUBCASE("an optimizer that is read keeps its masters") {
    serializers::save_npz(scratch / "model.npz", model);
    serializers::save_npz(scratch / "optimizer.npz", *setup.optimizer);
    step();
    serializers::load_npz(scratch / "optimizer.npz", *setup.optimizer);
    serializers::load_npz(scratch / "model.npz", model);
    step();
    CHECK(master_of(model.a) == 0.5 - 1.5 / 8192);
  }
  SUBCASE("steps without masters") {
    setup.optimizer->use_fp32_update(false);
    model.a.array().fill(0.25);
    step();
    setup.optimizer->use_fp32_update();
    step();
    CHECK(master_of(model.a) == 0.25 - 0.5 / 8192);
  }
}

TEST_CASE("a fixed scale is the caller's, a dynamic one the file's") {
  const ScratchDirectory scratch;
  const LossScalingOptions fixed{.scale = 64}, dynamic{.interval = 1, .initial_scale = 16},
      as_chainer{.scale = 64, .chainer_compatible = true};
  const auto read = [&](const LossScalingOptions& from, const LossScalingOptions& into) {
    Setup old(make_adam, kStorages[0], [&](Optimizer& o) { o.loss_scaling(from); });
    for (int i = 0; i < 2; ++i) old.optimizer->update(old.model, input(i, Dtype::float32));
    serializers::save_npz(scratch / "optimizer.npz", *old.optimizer);
    Setup fresh(make_adam, kStorages[0], [&](Optimizer& o) { o.loss_scaling(into); });
    serializers::load_npz(scratch / "optimizer.npz", *fresh.optimizer);
    CHECK(fresh.optimizer->t() == 2);
    return fresh.optimizer->loss_scale();
  };
  CHECK(read(dynamic, fixed) == 64);
  CHECK(read(dynamic, as_chainer) == 64);
  CHECK(read({.scale = 8}, fixed) == 64);
  CHECK(read({.scale = 8}, dynamic) == 8);
  CHECK(read(dynamic, dynamic) == 64);
}

TEST_CASE("a run that is read after its first step, which was skipped, goes on exactly") {
  const QuietLog quiet;
  const ScratchDirectory scratch;
  for (const auto& [name, make] : all_optimizers()) {
    CAPTURE(name);
    for (const Storage& storage : {kStorages[0], kMasters}) {
      CAPTURE(storage.text);
      const auto run = [&](bool is_interrupted) {
        const auto prepare = [](Optimizer& o) { o.loss_scaling({.interval = 1, .initial_scale = 16}); };
        auto setup = std::make_unique<Setup>(make, storage, prepare);
        for (int i = 0; i < 4; ++i) {
          if (is_interrupted && i == 1) {
            serializers::save_npz(scratch / "model.npz", setup->model);
            serializers::save_npz(scratch / "optimizer.npz", *setup->optimizer);
            setup = std::make_unique<Setup>(make, storage, prepare);
            serializers::load_npz(scratch / "model.npz", setup->model);
            serializers::load_npz(scratch / "optimizer.npz", *setup->optimizer);
          }
          setup->optimizer->update(setup->model, input(i, storage.dtype, i == 0 ? kInfinity : 0));
        }
        CHECK(setup->optimizer->skipped_steps() == 1);
        return state_of(setup->model, *setup->optimizer);
      };
      CHECK(run(true) == run(false));
    }
  }
}

TEST_CASE("an optimizer moves with its clocks and observers, and setup() begins anew") {
  const QuietLog quiet;
  const auto prepare = [](Optimizer& o) { o.loss_scaling({.interval = 1, .initial_scale = 16}); };
  Setup clean(make_adam, kMasters, prepare);
  Model model(Dtype::float16);
  optimizers::Adam first(optimizers::AdamOptions{.alpha = 0.1, .eps = 1e-3});
  first.use_fp32_update();
  first.setup(model);
  prepare(first);
  int seen = 0;
  const auto observer = first.observe_gradients([&](std::span<Parameter* const>) { ++seen; });
  const auto step = [&](Optimizer& o, int i) {
    const Variable x = input(i, Dtype::float16, i == 1 || i == 3 ? kInfinity : 0);
    o.update(model, x);
    clean.optimizer->update(clean.model, x);
  };
  step(first, 0);
  step(first, 1);
  optimizers::Adam second(std::move(first));
  step(second, 2);
  step(second, 3);
  step(second, 4);
  CHECK(state_of(model, second) == state_of(clean.model, *clean.optimizer));
  CHECK(second.skipped_steps() == 2);
  CHECK(seen == 5);

  for (Optimizer* const o : {static_cast<Optimizer*>(&second), clean.optimizer.get()}) {
    if (o == &second) {
      o->setup(model);
    } else {
      o->setup(clean.model);
    }
    CHECK(o->t() == 0);
    CHECK(o->skipped_steps() == 0);
  }
  step(second, 3);
  step(second, 5);
  CHECK(state_of(model, second) == state_of(clean.model, *clean.optimizer));
  CHECK(second.t() == 1);
  CHECK(second.skipped_steps() == 1);
}

TEST_CASE("overflow under a fixed scale" * doctest::skip()) {
  Setup setup(make_sgd, kStorages[0], [](Optimizer& o) { o.set_loss_scale(64); });
  for (int i = 0; i < 3; ++i) setup.optimizer->update(setup.model, input(i, Dtype::float32, kInfinity));
  for (int i = 0; i < 3; ++i) {
    CHECK(setup.optimizer->t() == 0);
    CHECK(setup.optimizer->loss_scale() == 64);
  }
}

TEST_CASE("one warning sums up the steps that a fixed scale loses") {
  const ChildResult child = run_in_child("KUSARI_LOG_LEVEL=warn", "overflow under a fixed scale");
  CHECK(child.exit_code == 0);
  const std::string warning = "SGD: steps skipped because a gradient was not finite: 3; the fixed loss scale may be";
  const size_t found = child.output.find(warning);
  CHECK(found != std::string::npos);
  CHECK(child.output.find("steps skipped", found + warning.size()) == std::string::npos);
}

TEST_CASE("a parameter without gradients in some steps") {
  Setup setup(make_sgd, kMasters, [](Optimizer& o) { o.loss_scaling({.interval = 1, .initial_scale = 16}); });
  Model& model = setup.model;
  for (int i = 0; i < 3; ++i) {
    setup.optimizer->update([&] {
      const Variable c = functions::sum(model.c * 0.5);
      return i == 1 ? functions::sum(model.a * halves(Dtype::float16)) + c : c;
    });
  }
  CHECK(master_of(model.a) == 0.25);
  CHECK(master_of(model.c) == 0.5 - 3 * 0.25);
  CHECK(master_of(model.b) == 0.5);
  CHECK(setup.optimizer->t() == 3);
}

}  // namespace
}  // namespace kusari::testing
