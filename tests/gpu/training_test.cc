#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/scale.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/fail_on_nonnumber.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

/// A model with parameters of a shape that the first batch gives, and with averages that it keeps.
class SmallModel : public Chain {
 public:
  SmallModel()
      : norm{*this, "norm", kInfer}, scale{*this, "scale", L::Scale::Options{.w_shape = Shape{5}, .bias_term = true}} {}
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable loss = functions::mean_squared_error(functions::tanh(scale(norm(x))), t);
    report({{"loss", loss}}, *this);
    return loss;
  }

  Child<L::BatchNormalization> norm;
  Child<L::Scale> scale;
};

std::vector<double> state_of(SmallModel& model, Optimizer& optimizer) {
  std::vector<double> values;
  const auto add = [&](const Array& array) {
    for (const double value : array.to_vector<double>()) values.push_back(value);
  };
  for (const auto& [path, parameter] : model.namedparams()) {
    add(parameter->array());
    for (const char* name : {"m", "v"}) {
      const Array state = parameter->update_rule().state(name);
      if (state.is_defined()) add(state);
    }
  }
  add(model.norm.avg_mean);
  add(model.norm.avg_var);
  values.push_back(static_cast<double>(optimizer.t()));
  return values;
}

void check_near(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4).scale(1));
  }
}

void train_on(SmallModel& model, Optimizer& optimizer, int first, int steps, const Device& device) {
  for (int i = first; i < first + steps; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    const Array x = uniform_array({8, 5}, -1, 1, Dtype::float32, seed).to_device(device);
    const Array t = uniform_array({8, 5}, -1, 1, Dtype::float32, 100 + seed).to_device(device);
    optimizer.update(model, Variable(x, false), Variable(t, false));
  }
}

template <class Prepare>
std::vector<double> trained_state(const Device& device, const Prepare& prepare) {
  SmallModel model;
  model.to(device);
  const std::unique_ptr<Optimizer> optimizer = prepare(model);
  train_on(model, *optimizer, 0, 4, device);
  for (Parameter* parameter : model.params()) CHECK(parameter->array().device() == device);
  CHECK(model.norm.avg_mean.device() == device);
  return state_of(model, *optimizer);
}

TEST_CASE("training on a GPU goes as on the CPU, hooks included") {
  const auto device = gpu_device();
  if (!device) return;
  const auto both = [&](const auto& prepare) {
    check_near(trained_state(*device, prepare), trained_state(Device(), prepare));
  };
  using namespace optimizer_hooks;
  both([](SmallModel& model) {
    auto optimizer = std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.05});
    optimizer->setup(model);
    optimizer->add_hook(WeightDecay(0.01));
    optimizer->add_hook(GradientClipping(0.05));
    return optimizer;
  });
  both([](SmallModel& model) {
    auto optimizer = std::make_unique<optimizers::MomentumSGD>(0.1, 0.9);
    optimizer->setup(model);
    optimizer->add_hook(Lasso(0.01));
    optimizer->add_hook(GradientHardClipping(-0.1, 0.1));
    optimizer->add_hook(GradientLARS());
    optimizer->set_loss_scale(64);
    return optimizer;
  });
}

TEST_CASE("a model and its optimizer go on from a file on a GPU") {
  const auto device = gpu_device();
  if (!device) return;
  const ScratchDirectory scratch;
  const std::string path = scratch / "snapshot.npz";
  struct LossRun {
    SmallModel model;
    optimizers::Adam optimizer{{.alpha = 0.05}};
    explicit LossRun(const Device& where) {
      model.to(where);
      optimizer.setup(model);
    }
    void serialize(Serializer& serializer) {
      model.serialize(*serializer.child("model"));
      optimizer.serialize(*serializer.child("optimizer"));
    }
  };
  LossRun straight(*device), resumed(*device);
  train_on(straight.model, straight.optimizer, 0, 2, *device);
  serializers::save_npz(path, straight);
  train_on(straight.model, straight.optimizer, 2, 2, *device);

  serializers::load_npz(path, resumed);
  CHECK(resumed.model.norm.avg_mean.device() == *device);
  train_on(resumed.model, resumed.optimizer, 2, 2, *device);
  CHECK(state_of(resumed.model, resumed.optimizer) == state_of(straight.model, straight.optimizer));
}

TEST_CASE("a trainer on a GPU logs what one on the CPU logs") {
  const auto device = gpu_device();
  if (!device) return;
  const auto logged = [](const Device& where) {
    const ScratchDirectory scratch;
    SmallModel model;
    optimizers::MomentumSGD optimizer(0.1, 0.9);
    optimizer.setup(model);
    const datasets::TupleDataset data(uniform_array({20, 5}, -1, 1), uniform_array({20, 5}, -1, 1, Dtype::float32, 2));
    iterators::SerialIterator iterator(data, 8, {.shuffle = false});
    iterators::SerialIterator test_iterator(data, 8, {.repeat = false, .shuffle = false});
    updaters::StandardUpdater updater(iterator, optimizer, {.device = where});
    training::Trainer trainer(updater, {2, "epoch"}, scratch.path());
    trainer.extend(training::extensions::Evaluator(test_iterator, model, {.device = where}));
    trainer.extend(training::extensions::FailOnNonNumber());
    training::extensions::LogReport log;
    trainer.extend(log);
    trainer.run();
    std::vector<double> values;
    for (const auto& entry : log.log()) {
      for (const char* key : {"main/loss", "validation/main/loss"}) values.push_back(entry.at(key));
    }
    return values;
  };
  const std::vector<double> values = logged(*device);
  CHECK(values.size() == 4);
  check_near(values, logged(Device()));
}

}  // namespace
}  // namespace kusari::testing
