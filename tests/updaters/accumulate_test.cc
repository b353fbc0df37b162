#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::StandardUpdater;
using updaters::StandardUpdaterOptions;

namespace {

/// loss = (w x - t)^2, the mean over the batch.
class ReportingLine : public Chain {
 public:
  ReportingLine() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 0}} {}
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable loss = functions::mean_squared_error(l(x), t);
    report({{"loss", loss}, {"x", functions::sum(x), 3}, {"number", ++calls}, {"whole", x}}, *this);
    return loss;
  }
  double slope() { return l.W.item<double>(); }

  Child<L::Linear> l;
  int calls = 0;
};

TupleDataset line_points(int n) {
  std::vector<float> x, t;
  for (int i = 1; i <= n; ++i) {
    x.push_back(static_cast<float>(i));
    t.push_back(2.0f * static_cast<float>(i));
  }
  return TupleDataset(array(x, {n, 1}), array(t, {n, 1}));
}

class TwoLayers : public Chain {
 public:
  explicit TwoLayers(Dtype dtype) : l1{*this, "l1", 4, 6}, l2{*this, "l2", 6, 2} {
    int64_t i = 0;
    for (Parameter* parameter : params()) {
      std::vector<float> values(static_cast<size_t>(parameter->size()));
      for (float& v : values) {
        ++i;
        v = std::sin(0.7f * static_cast<float>(i * i % 101));
      }
      parameter->set_array(array(values, parameter->shape()).astype(dtype));
    }
  }
  Variable operator()(const Variable& x, const Variable& t) {
    return functions::mean_squared_error(l2(functions::tanh(l1(x))), t);
  }

 private:
  Child<L::Linear> l1, l2;
};

TupleDataset net_points(int n, Dtype dtype) {
  std::vector<float> x(static_cast<size_t>(4 * n)), t(static_cast<size_t>(2 * n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(0.3f * static_cast<float>(i * i % 97));
  for (size_t i = 0; i < t.size(); ++i) t[i] = std::sin(0.9f * static_cast<float>(i));
  return TupleDataset(array(x, {n, 4}).astype(dtype), array(t, {n, 2}).astype(dtype));
}

struct Counters {
  int64_t iteration, epoch, t;
  double epoch_detail;
  std::optional<double> previous;
  bool is_new_epoch;
  friend bool operator==(const Counters&, const Counters&) = default;
};

Counters counters(const StandardUpdater& updater, const Optimizer& optimizer) {
  return {
      updater.iteration(),   optimizer.epoch(), optimizer.t(), updater.epoch_detail(), updater.previous_epoch_detail(),
      updater.is_new_epoch()};
}

}  // namespace

TEST_CASE("accumulated batches make the step of their mean loss") {
  ReportingLine model;
  optimizers::SGD optimizer(1.0 / 64);
  optimizer.setup(model);
  StandardUpdater updater(SerialIterator(line_points(6), 1, {.shuffle = false}), optimizer, {.accumulate = 3});
  // w -= lr * mean of 2 x (w x - 2 x) = lr * 2 (w - 2) mean of x^2
  double w = 0;
  for (const double mean_square : {(1.0 + 4 + 9) / 3, (16.0 + 25 + 36) / 3, (1.0 + 4 + 9) / 3}) {
    updater.update();
    w -= 2 * (w - 2) * mean_square / 64;
    CHECK(model.slope() == doctest::Approx(w).epsilon(1e-6));
  }
  CHECK(model.calls == 9);
  CHECK(updater.iteration() == 3);
  CHECK(optimizer.t() == 3);
}

TEST_CASE("accumulated batches are one batch as large as all of them") {
  struct Case {
    const char* name;
    StandardUpdaterOptions options;
    bool hooks = false;
    Dtype dtype = Dtype::float32;
  };
  const Case cases[] = {
      {"plain", {}},
      {"hooks", {}, true},
      {"fixed loss scale", {.loss_scale = 128}, true},
      {"dynamic loss scale", {.loss_scaling = LossScalingOptions{.interval = 2}}, true},
      {"stepwise loss scale", {.loss_scaling = LossScalingOptions{.interval = 2, .growth = LossScaleGrowth::stepwise}}},
      {"as Chainer", {.loss_scaling = LossScalingOptions{.chainer_compatible = true}}},
      {"float16", {.loss_scaling = LossScalingOptions{.initial_scale = 256}}, true, Dtype::float16},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const auto run = [&](int64_t batch_size, int64_t accumulate) {
      const auto dtype = using_config(&Config::dtype, c.dtype);
      TwoLayers model(c.dtype);
      optimizers::Adam optimizer({.alpha = 0.01});
      optimizer.setup(model);
      optimizer.use_fp32_update();
      if (c.hooks) {
        optimizer.add_hook(optimizer_hooks::GradientClipping(0.5));
        optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
      }
      StandardUpdaterOptions options = c.options;
      options.accumulate = accumulate;
      StandardUpdater updater(SerialIterator(net_points(20, c.dtype), batch_size, {.shuffle = false}), optimizer,
                              options);
      std::vector<Counters> counts;
      for (int i = 0; i < 7; ++i) {
        updater.update();
        counts.push_back(counters(updater, optimizer));
      }
      std::vector<double> values{optimizer.loss_scale()};
      for (Parameter* parameter : model.params()) {
        for (const double v : parameter->array().to_vector<double>()) values.push_back(v);
      }
      return std::pair(counts, values);
    };
    const auto [large_counts, large] = run(12, 1);
    const auto [counts, values] = run(3, 4);
    CHECK(counts == large_counts);
    REQUIRE(values.size() == large.size());
    CHECK(values[0] == large[0]);
    for (size_t i = 1; i < values.size(); ++i) {
      CAPTURE(i);
      CHECK(values[i] == doctest::Approx(large[i]).epsilon(c.dtype == Dtype::float16 ? 4e-3 : 2e-5).scale(1));
    }
  }
}

TEST_CASE("an accumulated step reports means over its batches") {
  const testing::ScratchDirectory dir;
  ReportingLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  StandardUpdater updater(SerialIterator(line_points(4), 1, {.shuffle = false}), optimizer, {.accumulate = 2});
  training::Trainer trainer(updater, {4, "iteration"}, dir.path());
  std::vector<double> losses, numbers, weights;
  trainer.extend([&](training::Trainer& t) {
    losses.push_back(t.observation().at("main/loss"));
    numbers.push_back(t.observation().at("main/number"));
    weights.push_back(t.observation().find("main/x")->weight());
    CHECK(t.observation().find("main/whole")->array().shape() == Shape{1, 1});
  });
  extensions::LogReport log({.trigger = {4, "iteration"}});
  trainer.extend(log);
  trainer.run();
  CHECK(losses == std::vector<double>{(4.0 + 16) / 2, (36.0 + 64) / 2, (4.0 + 16) / 2, (36.0 + 64) / 2});
  CHECK(numbers == std::vector<double>{1.5, 3.5, 5.5, 7.5});
  CHECK(weights == std::vector<double>{3, 3, 3, 3});
  CHECK(log.log()[0].at("main/loss") == 30);
  CHECK(log.log()[0].at("main/x") == 2.5);
  CHECK(log.log()[0].at("iteration") == 4);
  CHECK(log.log()[0].at("epoch") == 2);
}

TEST_CASE("what was reported by some of the batches counts accordingly") {
  const testing::ScratchDirectory dir;
  ReportingLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  int calls = 0;
  const auto loss = [&](const Variable& x, const Variable& t) {
    if (++calls % 4 == 1) report({{"seldom", calls}});  // 1, 5
    return functions::mean_squared_error(model.l(x), t);
  };
  StandardUpdater updater(SerialIterator(line_points(4), 1, {.shuffle = false}), optimizer,
                          {.loss_func = loss, .accumulate = 2});
  updater.update();  // nobody takes reports
  calls = 0;
  training::Trainer trainer(updater, {5, "iteration"}, dir.path());
  extensions::LogReport log({.trigger = {5, "iteration"}});
  trainer.extend(log);
  trainer.run();
  CHECK(log.log()[0].at("seldom") == 3);
}

TEST_CASE("epochs of accumulated steps") {
  ReportingLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  // Sweeps of 5 batches, steps of 3 batches: the second batch of the second step ends one.
  StandardUpdater updater(SerialIterator(line_points(5), 1, {.shuffle = false}), optimizer, {.accumulate = 3});
  updater.update();
  CHECK(counters(updater, optimizer) == Counters{1, 0, 1, 0.6, 0.0, false});
  updater.update();
  CHECK(counters(updater, optimizer) == Counters{2, 1, 2, 1.2, 0.6, true});
  updater.update();
  CHECK(counters(updater, optimizer) == Counters{3, 1, 3, 1.8, 1.2, false});
  updater.update();
  CHECK(counters(updater, optimizer) == Counters{4, 2, 4, 2.4, 1.8, true});
  StandardUpdater manual(SerialIterator(line_points(3), 1), optimizer, {.auto_new_epoch = false, .accumulate = 3});
  manual.update();
  CHECK(manual.is_new_epoch());
  CHECK(optimizer.epoch() == 2);
  CHECK_THROWS_AS(StandardUpdater(SerialIterator(line_points(3), 1), optimizer, {.accumulate = 0}), ValueError);
}

TEST_CASE("hooks see the gradients of an accumulated step once, and old gradients are cleared once") {
  ReportingLine model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  std::vector<double> seen;
  const auto see = [&](Parameter& parameter) { seen.push_back(parameter.grad().item<double>()); };
  optimizer.add_hook(OptimizerHook(see), "see");
  model.l.W.set_grad(full({1, 1}, 1000, Dtype::float32));
  const auto loss = [&](const Variable& x, const Variable& t) {
    functions::sum(model.l(x)).backward();  // leaves a gradient of its own
    return functions::mean_squared_error(model.l(x), t);
  };
  StandardUpdater updater(SerialIterator(line_points(2), 1, {.shuffle = false}), optimizer,
                          {.loss_func = loss, .loss_scale = 16, .accumulate = 2});
  updater.update();
  CHECK(seen == std::vector<double>{-10});  // mean of 2 x (0 - 2 x) for x = 1, 2
  CHECK(model.slope() == 10);
}

TEST_CASE("an accumulated step at the end of an iterator is that of the batches that there were") {
  for (const int64_t prefetch : {0, 2}) {
    for (const LossScalingOptions& scaling : {LossScalingOptions{.scale = 8}, LossScalingOptions{.initial_scale = 1024},
                                              LossScalingOptions{.chainer_compatible = true}}) {
      CAPTURE(prefetch);
      const testing::ScratchDirectory dir;
      ReportingLine model;
      optimizers::SGD optimizer(1.0 / 64);
      optimizer.setup(model);
      StandardUpdater updater(SerialIterator(line_points(5), 1, {.repeat = false, .shuffle = false}), optimizer,
                              {.loss_scaling = scaling, .prefetch = prefetch, .accumulate = 3});
      training::Trainer trainer(updater, {1, "epoch"}, dir.path());
      std::vector<double> losses, weights, expected_losses;
      trainer.extend([&](training::Trainer& t) {
        losses.push_back(t.observation().at("main/loss"));
        weights.push_back(t.observation().find("main/loss")->weight());
      });
      trainer.run();
      double w = 0;
      for (const double mean_square : {(1.0 + 4 + 9) / 3, (16.0 + 25) / 2}) {
        expected_losses.push_back((w - 2) * (w - 2) * mean_square);
        w -= 2 * (w - 2) * mean_square / 64;
      }
      CHECK(model.slope() == doctest::Approx(w).epsilon(1e-6));
      REQUIRE(losses.size() == 2);
      CHECK(losses[0] == doctest::Approx(expected_losses[0]).epsilon(1e-6));
      CHECK(losses[1] == doctest::Approx(expected_losses[1]).epsilon(1e-6));
      CHECK(weights == std::vector<double>{1, 1});
      CHECK(counters(updater, optimizer) == Counters{2, 1, 2, 1.0, 0.6, true});
      CHECK_THROWS_WITH_AS(updater.update(), doctest::Contains("the iterator 'main' is over and it does not repeat"),
                           StateError);
      CHECK(updater.iteration() == 2);
    }
  }
}

TEST_CASE("a loss function that throws leaves the gradients of the batches before") {
  ReportingLine model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  optimizer.set_loss_scale(4);
  model.cleargrads();
  const Variable x(full({1, 1}, 3, Dtype::float32), false), t(zeros({1, 1}), false);
  const auto slope = [&] { return functions::sum(model.l(x)); };
  optimizer.accumulate(slope, 0.5);
  CHECK_THROWS_AS(optimizer.accumulate([&]() -> Variable {
    slope().backward();
    throw ValueError("a bad batch");
  }),
                  ValueError);
  optimizer.accumulate(slope, 0.5);
  optimizer.update();
  CHECK(model.slope() == -3);
}

TEST_CASE("every forward of an accumulated step has the optimizer's scope") {
  ReportingLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  int open = 0, opened = 0;
  optimizer.set_forward_scope([&]() -> Optimizer::ForwardScope {
    ++opened;
    ++open;
    return {&open, [](int* count) { --*count; }};
  });
  const auto loss = [&](const Variable& x, const Variable& t) {
    CHECK(open == 1);
    return model(x, t);
  };
  StandardUpdater updater(SerialIterator(line_points(4), 1), optimizer, {.loss_func = loss, .accumulate = 2});
  updater.update();
  CHECK(open == 0);
  CHECK(opened == 2);
}

TEST_CASE("one batch that overflows skips the whole accumulated step") {
  for (const bool fixed : {true, false}) {
    CAPTURE(fixed);
    std::vector<float> x{1, 2, std::numeric_limits<float>::infinity(), 1, 2, 1};
    const TupleDataset data(array(x, {6, 1}), zeros({6, 1}));
    ReportingLine model;
    model.l.W.array().fill(1);
    optimizers::Adam optimizer;
    optimizer.setup(model);
    StandardUpdater updater(SerialIterator(data, 1, {.shuffle = false}), optimizer,
                            {.loss_scaling = fixed ? LossScalingOptions{.scale = 8}
                                                   : LossScalingOptions{.interval = 1, .initial_scale = 1024},
                             .accumulate = 2});
    updater.update();
    const double w = model.slope(), scale = optimizer.loss_scale();
    updater.update();
    CHECK(model.slope() == w);
    CHECK(optimizer.t() == 1);
    CHECK(optimizer.skipped_steps() == 1);
    CHECK_FALSE(optimizer.is_safe_to_update());
    CHECK(optimizer.loss_scale() == (fixed ? 8 : scale / 2));
    CHECK(updater.iteration() == 2);
    updater.update();
    CHECK(model.slope() != w);
    CHECK(optimizer.t() == 2);
  }
}
