#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

class StepNet : public Chain {
 public:
  StepNet() : l1{*this, "l1", 5, 7}, bn{*this, "bn", 7}, l2{*this, "l2", 7, 3} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(functions::relu(bn(l1(x))), 0.3)); }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
};

struct StepRun {
  std::vector<std::vector<double>> values;  // after each step
  int64_t replays = 0;
};

StepRun train_steps(const Device& device, bool is_static, const std::function<void(Optimizer&)>& prepare) {
  random::seed(7);
  L::Classifier<StepNet> model{StepNet()};
  optimizers::Adam optimizer({.alpha = 0.01});
  optimizer.setup(model);
  prepare(optimizer);
  std::vector<int32_t> labels;
  for (int i = 0; i < 20; ++i) labels.push_back(i * 7 % 3);
  iterators::SerialIterator iterator(datasets::TupleDataset(uniform_array({20, 5}, -1, 1), array(labels)), 6,
                                     {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(iterator, optimizer, {.device = device, .static_graph = is_static});
  StepRun run;
  for (int step = 0; step < 16; ++step) {
    if (step % 4 == 0) iterator.reset();  // the last batch is short
    optimizer.alpha = 0.01 / (1 + step);
    updater.update();
    std::vector<double>& values = run.values.emplace_back();
    for (Parameter* parameter : model.params()) {
      for (const Array& each : {parameter->array(), parameter->grad()}) {
        for (const double v : each.to_vector<double>()) values.push_back(v);
      }
    }
    values.push_back(model.loss.item<double>());
    values.push_back(model.accuracy.item<double>());
    values.push_back(optimizer.loss_scale());
  }
  if (is_static) run.replays = updater.static_step()->replays();
  return run;
}

void check_same_steps(const Device& device, const std::function<void(Optimizer&)>& prepare) {
  const StepRun expected = train_steps(device, false, prepare), replayed = train_steps(device, true, prepare);
  CHECK(replayed.replays >= 12);
  for (size_t step = 0; step < expected.values.size(); ++step) {
    CAPTURE(step);
    REQUIRE(replayed.values[step].size() == expected.values[step].size());
    for (size_t i = 0; i < expected.values[step].size(); ++i) {
      CAPTURE(i);
      const double got = replayed.values[step][i], right = expected.values[step][i];
      REQUIRE(std::isfinite(got) == std::isfinite(right));  // gradients of a step that is skipped may be anything
      if (std::isfinite(right)) REQUIRE(got == doctest::Approx(right).epsilon(1e-4).scale(1));
    }
  }
}

}  // namespace

TEST_CASE("whole steps are one graph of the device") {
  const auto device = gpu_device();
  if (!device) return;
  SUBCASE("alone") {
    check_same_steps(*device, [](Optimizer&) {});
  }
  SUBCASE("with hooks and loss scaling") {
    check_same_steps(*device, [](Optimizer& optimizer) {
      optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
      optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
      optimizer.add_hook(optimizer_hooks::GradientNoise(0.01));
      optimizer.loss_scaling({.interval = 2});
    });
  }
  SUBCASE("with steps that overflow") {
    check_same_steps(*device, [](Optimizer& optimizer) {
      optimizer.loss_scaling({.interval = 2, .growth = LossScaleGrowth::stepwise, .initial_scale = 1e38});
    });
  }
}

}  // namespace kusari::testing
