#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/extensions/value_observation.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/manual_schedule_trigger.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/golden_data.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;

namespace {

class ResumedMlp : public Chain {
 public:
  ResumedMlp(int64_t in, int64_t units, int64_t out, double dropout)
      : l1{*this, "l1", in, units}, l2{*this, "l2", units, units}, l3{*this, "l3", units, out}, ratio_{dropout} {}
  Variable operator()(const Variable& x) {
    const auto h = functions::relu(l2(functions::relu(l1(x))));
    return l3(ratio_ > 0 ? functions::dropout(h, ratio_) : h);
  }

 private:
  Child<links::Linear> l1, l2, l3;
  double ratio_;
};

/// 500 points in 200 dimensions, whose class is where their first element lies.
TupleDataset clusters() {
  constexpr int64_t kPoints = 500, kDimensions = 200;
  std::vector<float> x(static_cast<size_t>(kPoints * kDimensions));
  std::vector<int32_t> t(static_cast<size_t>(kPoints));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * static_cast<float>(i * i % 1009));
  for (size_t i = 0; i < t.size(); ++i) t[i] = x[i * kDimensions] > 0.3f ? 2 : x[i * kDimensions] > -0.3f ? 1 : 0;
  return TupleDataset(array(x, {kPoints, kDimensions}), array(t, {kPoints}));
}

struct Outcome {
  std::vector<std::pair<std::string, std::vector<float>>> parameters;
  std::vector<std::vector<double>> log;  // without the times
  double alpha = 0;
  uint64_t next_random = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct ResumedRun {
  explicit ResumedRun(const std::string& out, training::TriggerRef stop)
      : data{clusters()}, trainer{make(std::move(stop), out)} {}

  std::unique_ptr<training::Trainer> make(training::TriggerRef stop, const std::string& out) {
    optimizer.setup(model);
    updater.emplace(SerialIterator(data, 32), optimizer);
    auto made = std::make_unique<training::Trainer>(*updater, std::move(stop), out);
    made->extend(extensions::Evaluator(SerialIterator(data, 100, {.repeat = false, .shuffle = false}), model));
    made->extend(log);
    made->extend(extensions::ExponentialShift("alpha", 0.9), {.trigger = {7, "iteration"}});
    return made;
  }
  Outcome outcome() {
    Outcome result;
    for (const auto& [path, parameter] : model.namedparams()) {
      result.parameters.emplace_back(path, parameter->to_vector<float>());
    }
    for (const auto& row : log.log()) {
      result.log.emplace_back();
      for (const auto& [key, number] : row) {
        if (!key.ends_with("_time")) result.log.back().push_back(number.value);
      }
    }
    result.alpha = optimizer.alpha;
    result.next_random = random::bits();
    return result;
  }

  TupleDataset data;
  links::Classifier<ResumedMlp> model{ResumedMlp(kInfer, 100, 3, 0.3)};
  optimizers::Adam optimizer;
  std::optional<updaters::StandardUpdater> updater;
  extensions::LogReport log{{.trigger = {1, "epoch"}}};
  std::unique_ptr<training::Trainer> trainer;
};

Outcome uninterrupted(const std::string& out) {
  random::seed(42);
  ResumedRun run(out, {4, "epoch"});
  run.trainer->run();
  return run.outcome();
}

struct ThreadsGuard {
  int before = num_threads();
  ~ThreadsGuard() { set_num_threads(before); }
};

}  // namespace

TEST_CASE("a run with a seed gives the same numbers whatever the number of threads") {
  const testing::ScratchDirectory dir;
  const ThreadsGuard guard;
  set_num_threads(1);
  const Outcome one = uninterrupted(dir.path());
  CHECK(one == uninterrupted(dir.path()));
  set_num_threads(2);
  CHECK(one == uninterrupted(dir.path()));
  CHECK(one.log.size() == 4);
  CHECK(one.log.back()[0] < one.log.front()[0]);  // it learns
}

TEST_CASE("a resumed run is bit for bit the one that was not interrupted") {
  const ThreadsGuard guard;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const int64_t interrupted_at : {1, 20, 32, 33}) {  // 15.6 iterations an epoch: within one and at its end
      CAPTURE(threads);
      CAPTURE(interrupted_at);
      const testing::ScratchDirectory dir;
      const Outcome expected = uninterrupted(dir.path());
      {
        random::seed(42);
        ResumedRun first(dir.path(), {interrupted_at, "iteration"});
        first.trainer->extend(extensions::snapshot(), {.trigger = {interrupted_at, "iteration"}});
        first.trainer->run();
      }
      const std::string file = dir / ("snapshot_iter_" + std::to_string(interrupted_at));
      {
        random::seed(7);  // another process
        random::bits();
        ResumedRun second(dir.path(), {4, "epoch"});
        serializers::load_npz(file, *second.trainer);
        second.trainer->run();
        CHECK(second.outcome() == expected);
      }
      random::seed(8);
      ResumedRun third(dir.path(), {4, "epoch"});
      third.trainer->extend(extensions::snapshot({.autoload = true}), {.trigger = {1000, "epoch"}});
      third.trainer->run();
      CHECK(third.outcome() == expected);
    }
  }
}

// Golden case Z.trainer/plain: a run that Chainer began goes on here.
TEST_CASE("a snapshot of Chainer's trainer is resumed") {
  const std::string snapshot = testing::golden_path("serializers/trainer.plain.npz");
  const testing::ScratchDirectory dir;
  const serializers::NpzReader data(testing::golden_path("serializers/data.npz"));
  const auto golden = [&](const std::string& name) { return data.array("Z.trainer/plain/" + name); };
  links::Classifier<ResumedMlp> model(ResumedMlp(4, 5, 3, 0));
  optimizers::Adam optimizer({.alpha = 0.05});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
  updaters::StandardUpdater updater(SerialIterator(TupleDataset(golden("x"), golden("t")), 4, {.shuffle = false}),
                                    optimizer);
  training::Trainer trainer(updater, {7, "iteration"}, dir.path());
  trainer.extend(extensions::LogReport({.trigger = {2, "iteration"}, .filename = std::nullopt}));
  trainer.extend(extensions::ExponentialShift("alpha", 0.9), {.trigger = {2, "iteration"}});
  trainer.extend(extensions::observe_value("five", [](training::Trainer&) { return 5.0; }),
                 {.name = "five", .trigger = triggers::ManualScheduleTrigger({2, 6}, "iteration")});
  std::vector<double> losses, fives;
  trainer.extend(
      [&](training::Trainer& t) {
        losses.push_back(t.observation().at("main/loss"));
        fives.push_back(t.observation().contains("five") ? t.observation().at("five") : 0);
      },
      {.name = "watch"});
  serializers::load_npz(snapshot, trainer, {.ignore = [](const std::string& key) {
                          return key.rfind("extension_triggers/watch", 0) == 0;
                        }});
  CHECK(updater.iteration() == 5);
  trainer.run();

  const auto expected = golden("after/losses").to_vector<double>();
  REQUIRE(losses.size() == expected.size());
  for (size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  CHECK(fives == std::vector<double>{5, 0});
  CHECK(optimizer.alpha == doctest::Approx(golden("after/hyper").item<double>()).epsilon(1e-12));
  for (const auto& [path, parameter] : model.namedparams()) {
    CAPTURE(path);
    const auto want = golden("after" + path).to_vector<float>(), got = parameter->to_vector<float>();
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-5f + 1e-4f * std::abs(want[i]));
  }
  const auto& log = trainer.get_extension<extensions::LogReport>("LogReport").log();
  REQUIRE(log.size() == 3);
  CHECK(log[0].at("elapsed_time") == 1.5);
  CHECK(log[2].at("main/loss") == doctest::Approx((1.1170440912246704 + expected[0]) / 2).epsilon(1e-4));
  CHECK(log[2].at("elapsed_time") >= 2.5);
}
