#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/fail_on_nonnumber.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"
#include "kusari/updaters/static_step.h"

// What happens to a run whose steps are replayed: the run must go as the plain one does. The model keeps nothing of a
// step, so that all but the first are replays.

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::StandardUpdater;
using updaters::StandardUpdaterOptions;

namespace {

constexpr int64_t kEventInputs = 5, kEventClasses = 3;
constexpr int kSteps = 20;

class EventNet : public Chain {
 public:
  EventNet() : l1{*this, "l1", kEventInputs, 7}, l2{*this, "l2", 7, kEventClasses} {}
  Variable operator()(const Variable& x) { return l2(functions::relu(l1(x))); }

  Child<L::Linear> l1, l2;
};

class Model : public Chain {
 public:
  Model() : net{*this, "net"} {}
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable loss = functions::softmax_cross_entropy(net(x), t);
    report({{"loss", loss}}, *this);
    return loss;
  }

  Child<EventNet> net;
};

TupleDataset event_examples(int n) {
  std::vector<float> x(static_cast<size_t>(kEventInputs * n));
  std::vector<int32_t> t(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(0.3f * static_cast<float>(i * i % 97));
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int32_t>(i * 7 % kEventClasses);
  return TupleDataset(array(x, {n, kEventInputs}), array(t));
}

SerialIterator batches() { return SerialIterator(event_examples(20), 4, {.shuffle = false}); }

struct EventCase {
  std::function<std::unique_ptr<Optimizer>()> make;
  std::function<void(Optimizer&)> prepare = [](Optimizer&) {};
  /// Before step number `step`.
  std::function<void(Optimizer&, Model&, int step)> meanwhile = [](Optimizer&, Model&, int) {};
  StandardUpdaterOptions options = {};
  int replays = kSteps - 1;
};

std::vector<std::vector<double>> train_with_events(const EventCase& c, bool is_static) {
  random::seed(7);
  Model model;
  const std::unique_ptr<Optimizer> optimizer = c.make();
  optimizer->setup(model);
  c.prepare(*optimizer);
  StandardUpdaterOptions options = c.options;
  if (is_static) options.static_graph = StaticGraphOptions{.passes = StaticGraphPasses::none()};
  StandardUpdater updater(batches(), *optimizer, options);
  std::vector<std::vector<double>> states;
  for (int step = 0; step < kSteps; ++step) {
    c.meanwhile(*optimizer, model, step);
    updater.update();
    std::vector<double>& state = states.emplace_back();
    for (Parameter* parameter : model.params()) {
      for (const Array& array : {parameter->array(), parameter->grad()}) {
        for (const double v : array.to_vector<double>()) state.push_back(v);
      }
    }
    state.push_back(optimizer->loss_scale());
    state.push_back(static_cast<double>(optimizer->t()));
  }
  if (is_static) CHECK(updater.static_step()->replays() == c.replays);
  return states;
}

void check_same_events(const EventCase& c) {
  const auto expected = train_with_events(c, false), replayed = train_with_events(c, true);
  for (size_t step = 0; step < expected.size(); ++step) {
    CAPTURE(step);
    REQUIRE(replayed[step] == expected[step]);
  }
}

std::unique_ptr<Optimizer> adam() { return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.01}); }
std::unique_ptr<Optimizer> sgd() { return std::make_unique<optimizers::SGD>(0.1); }

}  // namespace

TEST_CASE("noise whose clock the device counts from the first step on") {
  check_same_events({.make = adam,
                     .prepare = [](Optimizer& o) { o.add_hook(optimizer_hooks::GradientNoise(0.01)); },
                     .options = {.loss_scaling = LossScalingOptions{}}});
  check_same_events({.make = adam,
                     .prepare = [](Optimizer& o) { o.add_hook(optimizer_hooks::GradientNoise(0.01)); },
                     .meanwhile =
                         [](Optimizer&, Model& m, int step) {
                           if (step == 6) m.net.l1.disable_update();
                           if (step == 12) m.net.l1.enable_update();
                         },
                     .options = {.loss_scaling = LossScalingOptions{}},
                     .replays = kSteps - 3});
}

TEST_CASE("another optimizer takes the place of the recorded one") {
  SUBCASE("by assignment") {
    check_same_events({.make = adam,
                       .meanwhile =
                           [](Optimizer& o, Model& m, int step) {
                             if (step != 8) return;
                             dynamic_cast<optimizers::Adam&>(o) = optimizers::Adam({.alpha = 0.02});
                             o.setup(m);
                           },
                       .replays = kSteps - 2});
  }
  SUBCASE("by assignment, with its target") {
    check_same_events({.make = sgd,
                       .meanwhile =
                           [](Optimizer& o, Model& m, int step) {
                             if (step != 8) return;
                             optimizers::SGD other(0.2);
                             other.setup(m);
                             dynamic_cast<optimizers::SGD&>(o) = std::move(other);
                           },
                       .replays = kSteps - 2});
  }
  SUBCASE("on its parameters") {
    for (const bool is_static : {false, true}) {
      Model model;
      optimizers::SGD optimizer(0.1), other(0.5);
      optimizer.setup(model);
      StandardUpdater updater(batches(), optimizer, {.static_graph = is_static});
      for (int i = 0; i < 3; ++i) updater.update();
      other.setup(model);
      CHECK_THROWS_AS(updater.update(), StateError);
    }
  }
}

TEST_CASE("a replay that fails is no step") {
  std::vector<std::vector<float>> results;
  for (const bool is_static : {false, true}) {
    random::seed(3);
    Model model;
    optimizers::Adam optimizer({.alpha = 0.01});
    optimizer.setup(model);
    int calls = 0;
    const auto failing = [&](const Variable& x, const Variable& t) {
      const Variable loss = model(x, t);
      static_code([&] {
        if (++calls == 4) throw ValueError("once");
      });
      return loss;
    };
    StandardUpdater updater(batches(), optimizer, {.loss_func = failing, .static_graph = is_static});
    for (int i = 0; i < 3; ++i) updater.update();
    CHECK_THROWS_AS(updater.update(), ValueError);
    CHECK(optimizer.t() == 3);
    CHECK(model.net.l1.W.update_rule().t() == 3);
    CHECK(!model.net.l1.W.grad().is_defined());
    for (int i = 0; i < 5; ++i) updater.update();
    CHECK(optimizer.t() == 8);
    if (is_static) CHECK(updater.static_step()->replays() == 6);
    results.push_back(model.net.l1.W.to_vector<float>());
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("gradients outlive the recording, or are stale") {
  Model model;
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  Array kept;
  std::vector<float> numbers, others;
  {
    StandardUpdater updater(batches(), optimizer, {.static_graph = true});
    for (int i = 0; i < 4; ++i) updater.update();
    optimizer.add_hook(optimizer_hooks::WeightDecay(0.1));
    kept = model.net.l1.W.grad();
    numbers = kept.to_vector<float>();
    for (int i = 0; i < 3; ++i) updater.update();
    CHECK(kept.to_vector<float>() == numbers);
    others = model.net.l2.W.grad().to_vector<float>();
  }
  CHECK(kept.to_vector<float>() == numbers);
  CHECK(model.net.l2.W.grad().to_vector<float>() == others);
}

TEST_CASE("what was reported stays, and a reporter may come later") {
  std::vector<std::vector<double>> reported;
  for (const bool is_static : {false, true}) {
    random::seed(3);
    Model model;
    optimizers::Adam optimizer;
    optimizer.setup(model);
    StandardUpdater updater(batches(), optimizer, {.static_graph = is_static});
    Reporter reporter;
    reporter.add_observer("main", model);
    std::vector<Observation> kept(10);
    for (int i = 0; i < 3; ++i) updater.update();
    for (Observation& observation : kept) {
      const auto scope = reporter.scope(observation);
      updater.update();
    }
    for (int i = 0; i < 3; ++i) updater.update();
    std::vector<double>& values = reported.emplace_back();
    for (const Observation& observation : kept) values.push_back(observation.at("main/loss"));
  }
  CHECK(reported[0] == reported[1]);
}

TEST_CASE("steps with more kinds of batches than may be recorded run define-by-run") {
  const testing::QuietLog quiet;
  std::vector<std::vector<float>> results;
  for (const bool is_static : {false, true}) {
    random::seed(3);
    Model model;
    optimizers::Adam optimizer;
    optimizer.setup(model);
    updaters::StaticStep step(
        {.max_signatures = 3}, [](Optimizer& o, std::span<const Variable> in) { return o.call_target(in); }, false);
    for (int sweep = 0; sweep < 3; ++sweep) {
      for (int64_t n = 1; n <= 12; ++n) {
        const std::array<Variable, 2> inputs{
            Variable(full({n, kEventInputs}, 0.1 * static_cast<double>(n), Dtype::float32), false),
            Variable(full({n}, 1, Dtype::int32), false)};
        if (is_static) {
          step.update(optimizer, inputs);
        } else {
          optimizer.update(model, inputs[0], inputs[1]);
        }
      }
    }
    if (is_static) CHECK(step.replays() == 6);
    results.push_back(model.net.l1.W.to_vector<float>());
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("a trainer with extensions, interrupted or not, logs what it would otherwise") {
  const testing::ScratchDirectory scratch;
  const auto run = [&](const std::string& name, bool is_static, bool is_interrupted) {
    random::seed(5);
    nlohmann::json log;
    for (const bool is_resumed : {false, true}) {
      if (is_resumed && !is_interrupted) break;
      L::Classifier<EventNet> model{EventNet()};
      optimizers::Adam optimizer;
      optimizer.setup(model);
      SerialIterator iterator(event_examples(22), 4, {.shuffle = false}),
          others(event_examples(10), 4, {.repeat = false, .shuffle = false});
      StandardUpdaterOptions options;
      if (is_static) options.static_graph = StaticGraphOptions{.passes = StaticGraphPasses::none()};
      StandardUpdater updater(iterator, optimizer, options);
      training::Trainer trainer(updater, {is_interrupted && !is_resumed ? 2 : 4, "epoch"}, scratch / name);
      trainer.extend(training::extensions::Evaluator(others, model));
      trainer.extend(training::extensions::LogReport());
      trainer.extend(training::extensions::ExponentialShift("alpha", 0.9));
      trainer.extend(training::extensions::FailOnNonNumber());
      trainer.extend(training::extensions::snapshot());
      if (is_resumed) {
        for (int i = 0; i < 3; ++i) updater.update();  // what is read replaces all
        serializers::load_npz(scratch / (name + "/snapshot_iter_11"), trainer);
      }
      trainer.run();
      if (is_static) CHECK(updater.static_step()->replays() > 0);
      std::ifstream file(scratch / (name + "/log"));
      log = nlohmann::json::parse(file);
    }
    for (auto& entry : log) {
      for (const char* const time : {"elapsed_time", "compute_time", "data_time"}) entry.erase(time);
    }
    return log.dump();
  };
  const std::string expected = run("plain", false, false);
  CHECK(expected.find("validation/main/loss") != std::string::npos);
  CHECK(run("static", true, false) == expected);
  CHECK(run("resumed", true, true) == expected);
}

TEST_CASE("options of layers that change need recordings to be cleared") {
  Model model;
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  double factor = 1;
  const auto scaled = [&](const Variable& x, const Variable& t) { return model(x, t) * factor; };
  StandardUpdater updater(batches(), optimizer, {.loss_func = scaled, .static_graph = true});
  for (int i = 0; i < 3; ++i) updater.update();
  const std::vector<float> kept = model.net.l1.W.grad().to_vector<float>();
  factor = 0;
  updater.static_step()->clear();
  CHECK(model.net.l1.W.grad().to_vector<float>() == kept);
  updater.update();
  for (const float g : model.net.l1.W.grad().to_vector<float>()) CHECK(g == 0);
  CHECK(updater.static_step()->replays() == 2);
}

TEST_CASE("a classifier is recorded once") {
  L::Classifier<EventNet> model{EventNet()};
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  StandardUpdater updater(batches(), optimizer, {.static_graph = true});
  for (int i = 0; i < 4; ++i) updater.update();
  CHECK(updater.static_step()->replays() == 3);
}
