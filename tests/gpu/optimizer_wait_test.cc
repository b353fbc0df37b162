#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

using kusari::detail::OptimizerAccess;

class MixedModel : public Chain {
 public:
  explicit MixedModel(Dtype dtype)
      : a{*this, "a", full({40, 3}, 1, dtype)}, b{*this, "b", full({7}, 1, Dtype::float32)} {}
  Variable operator()(const Variable& x) { return functions::sum(a * x); }
  Parameter a, b;
};

/// Steps, some of which overflow, between lines that the test finds in the trace.
template <class Prepare, class Step>
void trace_steps(const char* name, Dtype dtype, const Prepare& prepare, const Step& step) {
  const Device device = *gpu_device();
  MixedModel model(dtype);
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.use_fp32_update();
  optimizer.setup(model);
  prepare(optimizer);
  const double infinity = std::numeric_limits<double>::infinity();
  const Variable inputs[] = {Variable(full({40, 3}, 0.5, dtype, device), false),
                             Variable(full({40, 3}, infinity, dtype, device), false)};
  for (int i = 0; i < 6; ++i) {
    if (i == 2) std::fprintf(stderr, "begin %s\n", name);  // memory and tables are there by now
    step(optimizer, model, inputs[i % 2]);
  }
  std::fprintf(stderr, "end\n");
  optimizer.skipped_steps();
}

TEST_CASE("trace steps of optimizers" * doctest::skip()) {
  const auto train = [](Optimizer& optimizer, MixedModel& model, const Variable& x) { optimizer.update(model, x); };
  const LossScalingOptions rules[] = {
      {.scale = 8}, {.interval = 2}, {.interval = 2, .growth = LossScaleGrowth::stepwise}};
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    for (const LossScalingOptions& rule : rules) {
      trace_steps(
          "scaled", dtype, [&](Optimizer& o) { o.loss_scaling(rule); }, train);
      const auto with_hooks = [&](Optimizer& o) {
        o.loss_scaling(rule);
        o.add_hook(optimizer_hooks::WeightDecay(0.1));
        o.add_hook(optimizer_hooks::GradientClipping(1));
        o.add_hook(optimizer_hooks::GradientHardClipping(-1, 1));
        o.add_hook(optimizer_hooks::Lasso(0.1));
        o.add_hook(optimizer_hooks::GradientLARS());
        o.add_hook(optimizer_hooks::GradientNoise(0.1));
      };
      trace_steps("hooks", dtype, with_hooks, train);
    }
    const Array scale = full({}, 4, Dtype::float64, *gpu_device());
    trace_steps(
        "scaled elsewhere", dtype, [](Optimizer&) {},
        [&](Optimizer& optimizer, MixedModel& model, const Variable& x) {
          model.cleargrads();
          (model(x) * 4.0).backward();
          OptimizerAccess::update(optimizer, OptimizerAccess::squared_norm(optimizer), scale);
        });
    const auto chainer = [](Optimizer& o) { o.loss_scaling({.chainer_compatible = true}); };
    trace_steps("as chainer", dtype, chainer, train);
  }
}

TEST_CASE("a step with loss scaling waits for nothing on the device") {
  if (!gpu_device()) return;
  // Eager streams trace work where it is given, not where somebody demands it; the host waits in the same places.
  const ChildResult child =
      run_in_child("KUSARI_EMULATED_TRACE=1 KUSARI_EMULATED_STREAMS=eager", "trace steps of optimizers");
  CHECK(child.exit_code == 0);
  if (child.output.find("device: ") == std::string::npos) KUSARI_SKIP("a card keeps no trace");
  int sections = 0;
  for (size_t at = child.output.find("begin "); at != std::string::npos; at = child.output.find("begin ", at + 1)) {
    const std::string section = child.output.substr(at, child.output.find("\nend", at) - at);
    const std::string name = section.substr(6, section.find('\n') - 6);
    CAPTURE(name);
    CHECK(section.find("device: copy") != std::string::npos);
    CHECK((section.find("device: wait") != std::string::npos) == (name == "as chainer"));
    ++sections;
  }
  CHECK(sections == 16);
}

TEST_CASE("a model that moves to another device goes on with its scale, clocks and masters") {
  const auto device = gpu_device();
  if (!device) return;
  const auto run = [&](bool moves) {
    MixedModel model(Dtype::float16);
    optimizers::Adam optimizer;
    optimizer.use_fp32_update();
    optimizer.setup(model);
    optimizer.loss_scaling({.interval = 1, .initial_scale = 16});
    for (int i = 0; i < 6; ++i) {
      if (moves && i % 2 == 0) model.to(i == 2 ? Device() : *device);
      const double x = i == 1 || i == 3 ? std::numeric_limits<double>::infinity() : 0.5 + i;
      model.cleargrads();
      optimizer.backward(model(Variable(full({40, 3}, x, Dtype::float16, model.a.device()), false)));
      if (moves && i == 4) model.to(Device());  // gradients keep their scale
      optimizer.update();
      if (moves && i == 4) model.to(*device);
    }
    model.to(Device());
    const Array master = model.a.update_rule().state("fp32_param");
    return std::tuple(master.to_vector<double>(), optimizer.t(), optimizer.skipped_steps(), optimizer.loss_scale());
  };
  const auto still = run(false), moved = run(true);
  CHECK(std::get<1>(moved) == 4);
  CHECK(std::get<2>(moved) == 2);
  CHECK(std::get<3>(moved) == std::get<3>(still));
  for (size_t i = 0; i < std::get<0>(still).size(); ++i) {
    CHECK(std::get<0>(moved)[i] == doctest::Approx(std::get<0>(still)[i]).epsilon(1e-6));
  }
}

TEST_CASE("parameters on two devices skip a step together") {
  const auto device = gpu_device();
  if (!device) return;
  MixedModel model(Dtype::float16), clean(Dtype::float16);
  model.a.to(*device);
  optimizers::Adam optimizer, other;
  for (Optimizer* const o : {static_cast<Optimizer*>(&optimizer), static_cast<Optimizer*>(&other)})
    o->use_fp32_update();
  optimizer.setup(model);
  other.setup(clean);
  optimizer.loss_scaling();
  const auto step = [](Optimizer& o, MixedModel& m, double a, double b) {
    m.a.set_grad(full({40, 3}, a, Dtype::float16, m.a.array().device()));
    m.b.set_grad(full({7}, b, Dtype::float32));
    o.update();
  };
  const double infinity = std::numeric_limits<double>::infinity();
  step(optimizer, model, infinity, 1);
  for (int i = 1; i < 4; ++i) {
    step(optimizer, model, i, 0.5 * i);
    step(other, clean, i, 0.5 * i);
    step(optimizer, model, 1, std::nan(""));
  }
  check_same(model.a.array(), clean.a.array());
  check_same(model.b.array(), clean.b.array());
  CHECK(optimizer.skipped_steps() == 4);
  CHECK(optimizer.t() == 3);
  CHECK(model.a.update_rule().t() == 3);
  CHECK(model.b.update_rule().t() == 3);
}

}  // namespace
}  // namespace kusari::testing
