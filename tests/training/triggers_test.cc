#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/best_value_trigger.h"
#include "kusari/framework/training/triggers/early_stopping_trigger.h"
#include "kusari/framework/training/triggers/interval_trigger.h"
#include "kusari/framework/training/triggers/manual_schedule_trigger.h"
#include "kusari/framework/training/triggers/once_trigger.h"
#include "kusari/framework/training/triggers/time_trigger.h"
#include "kusari/tests/log_capture.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"
#include "kusari/tests/training/golden_schedulers.h"

using kusari::testing::FakeUpdater;
using kusari::testing::ScratchDirectory;
using kusari::training::Trainer;
using kusari::training::Trigger;
using kusari::training::TriggerRef;
namespace triggers = kusari::training::triggers;
namespace serializers = kusari::serializers;
using Json = nlohmann::json;

namespace {

TriggerRef interval(const Json& pair) { return {pair[0].get<double>(), pair[1].get<std::string>()}; }

std::unique_ptr<Trigger> make_trigger(const std::string& name, const Json& c) {
  if (name == "triggers.IntervalTrigger") {
    return std::make_unique<triggers::IntervalTrigger>(c.at("period").get<double>(), c.at("unit").get<std::string>());
  }
  if (name == "triggers.ManualScheduleTrigger") {
    return std::make_unique<triggers::ManualScheduleTrigger>(c.at("points").get<std::vector<double>>(),
                                                             c.at("unit").get<std::string>());
  }
  if (name == "triggers.OnceTrigger") return std::make_unique<triggers::OnceTrigger>();
  if (name == "triggers.MinValueTrigger") {
    return std::make_unique<triggers::MinValueTrigger>(c.at("key").get<std::string>(), interval(c.at("trigger")));
  }
  if (name == "triggers.MaxValueTrigger") {
    return std::make_unique<triggers::MaxValueTrigger>(c.at("key").get<std::string>(), interval(c.at("trigger")));
  }
  REQUIRE(name == "triggers.EarlyStoppingTrigger");
  return std::make_unique<triggers::EarlyStoppingTrigger>(
      triggers::EarlyStoppingOptions{.check_trigger = interval(c.at("check_trigger")),
                                     .monitor = c.at("monitor"),
                                     .patience = c.at("patience"),
                                     .mode = c.at("mode"),
                                     .max_trigger = interval(c.at("max_trigger"))});
}

/// What a trigger answers in iterations 1, 2, ..., given what is reported under "x".
std::string answers(Trigger& trigger, Trainer& trainer, FakeUpdater& updater, int iterations,
                    const std::vector<double>& reported = {}) {
  std::string fired;
  for (int i = 0; i < iterations; ++i) {
    updater.update();
    trainer.observation().clear();
    if (!reported.empty()) trainer.observation().set("x", reported[static_cast<size_t>(i)]);
    fired += trigger(trainer) ? '1' : '.';
  }
  return fired;
}

}  // namespace

TEST_CASE("triggers answer as Chainer's do") {
  int compared = kusari::testing::for_each_scheduler(
      [](const std::string& name) { return name.rfind("triggers.", 0) == 0; },
      [](const Json& c, const auto& array) {
        const auto trigger = make_trigger(c.at("name"), c.at("ctor"));
        FakeUpdater updater;
        Trainer trainer(updater);
        const auto iteration = array("iteration"), detail = array("epoch_detail"), fired = array("fired");
        for (size_t i = 0; i < fired.size(); ++i) {
          updater.count = static_cast<int64_t>(iteration[i]);
          updater.detail = detail[i];
          trainer.observation().clear();
          if (c.contains("observation_key") && c.at("observation_key").is_string()) {
            trainer.observation().set(c.at("observation_key").get<std::string>(), array("observation")[i]);
          }
          CAPTURE(iteration[i]);
          CHECK((*trigger)(trainer) == (fired[i] != 0));
        }
      });
  CHECK((compared == 0 || compared == 8));
}

TEST_CASE("IntervalTrigger") {
  FakeUpdater updater(3);
  Trainer trainer(updater);
  SUBCASE("iterations") {
    triggers::IntervalTrigger trigger(3, "iteration");
    CHECK(answers(trigger, trainer, updater, 9) == "..1..1..1");
    CHECK(trigger.get_training_length()->period == 3);
    CHECK(trigger.get_training_length()->unit == "iteration");
  }
  SUBCASE("epochs, also when several pass at once") {
    triggers::IntervalTrigger trigger(2, "epoch");
    CHECK(answers(trigger, trainer, updater, 12) == ".....1.....1");
    updater.count += 12;
    CHECK(trigger(trainer));
    CHECK_FALSE(trigger(trainer));
  }
  SUBCASE("a fraction of an epoch") {
    triggers::IntervalTrigger trigger(0.5, "epoch");
    CHECK(answers(trigger, trainer, updater, 6) == ".11.11");  // epochs 0.33 0.67 1 1.33 1.67 2
  }
  SUBCASE("misuse") {
    CHECK_THROWS_WITH_AS(TriggerRef(1, "hour"), "IntervalTrigger: unit is 'hour': it must be 'epoch' or 'iteration'",
                         kusari::ValueError);
    CHECK_THROWS_WITH_AS(TriggerRef(0, "epoch"), doctest::Contains("must be positive"), kusari::ValueError);
  }
}

TEST_CASE("IntervalTrigger goes on after a resume, also from a snapshot that does not know it") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater);
  triggers::IntervalTrigger trigger(3, "iteration");
  CHECK(answers(trigger, trainer, updater, 4) == "..1.");
  serializers::save_npz(dir / "trigger", trigger);
  updater.count += 2;
  triggers::IntervalTrigger resumed(3, "iteration"), unknown(3, "iteration");
  serializers::load_npz(dir / "trigger", resumed);
  CHECK(resumed(trainer));  // 4 before, 6 now
  serializers::save_npz_dictionary(dir / "empty", {{"other", {}}});
  serializers::load_npz(dir / "empty", unknown);
  CHECK(unknown(trainer));  // 5 before, it guesses
  updater.count = 7;
  CHECK_FALSE(unknown(trainer));
}

TEST_CASE("ManualScheduleTrigger is finished after its last point") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater);
  triggers::ManualScheduleTrigger trigger({2, 5}, "iteration");
  CHECK(answers(trigger, trainer, updater, 4) == ".1..");
  CHECK_FALSE(trigger.finished());
  serializers::save_npz(dir / "trigger", trigger);
  CHECK(answers(trigger, trainer, updater, 3) == "1..");
  CHECK(trigger.finished());
  updater.count = 4;
  triggers::ManualScheduleTrigger resumed({2, 5}, "iteration");
  serializers::load_npz(dir / "trigger", resumed);
  CHECK(answers(resumed, trainer, updater, 3) == "1..");

  updater.count = 0;
  triggers::ManualScheduleTrigger epoch(0.5, "epoch");
  CHECK(answers(epoch, trainer, updater, 4) == ".1..");
  CHECK_THROWS_AS(triggers::ManualScheduleTrigger(std::vector<double>(), "epoch"), kusari::ValueError);
  CHECK_THROWS_AS(triggers::ManualScheduleTrigger(1, "week"), kusari::ValueError);
}

TEST_CASE("OnceTrigger") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater);
  triggers::OnceTrigger trigger;
  CHECK(answers(trigger, trainer, updater, 3) == "1..");
  CHECK(trigger.finished());
  serializers::save_npz(dir / "trigger", trigger);
  triggers::OnceTrigger resumed, again(true);
  serializers::load_npz(dir / "trigger", resumed);
  serializers::load_npz(dir / "trigger", again);
  CHECK(resumed.finished());
  CHECK(answers(resumed, trainer, updater, 2) == "..");
  CHECK(answers(again, trainer, updater, 2) == "1.");
}

TEST_CASE("MaxValueTrigger and MinValueTrigger compare means of intervals") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater);
  triggers::MaxValueTrigger largest("x", {2, "iteration"});
  triggers::MinValueTrigger smallest("x", {2, "iteration"});
  const std::vector<double> reported = {1, 3, 5, 0, 1, 2, 9, 9};  // means 2, 2.5, 1.5, 9
  CHECK(answers(largest, trainer, updater, 8, reported) == ".1.1...1");
  CHECK(largest.best_value() == 9);
  updater.count = 0;
  CHECK(answers(smallest, trainer, updater, 5, reported) == ".1...");
  serializers::save_npz(dir / "trigger", smallest);
  triggers::MinValueTrigger resumed("x", {2, "iteration"});
  serializers::load_npz(dir / "trigger", resumed);
  CHECK(resumed.best_value() == 2);
  CHECK(answers(resumed, trainer, updater, 1, {2}) == "1");  // the 1 of before and this 2
  CHECK(resumed.best_value() == 1.5);

  const double nan = std::nan("");
  for (const bool is_max : {false, true}) {
    CAPTURE(is_max);
    triggers::BestValueTrigger trigger(
        "x", [&](double best, double mean) { return is_max ? mean > best : mean < best; }, {1, "iteration"});
    CHECK(answers(trigger, trainer, updater, 2, {nan, nan}) == "..");
    CHECK(trigger.best_value() == std::nullopt);
    updater.count = 0;
    CHECK(answers(trigger, trainer, updater, 3, {5, nan, is_max ? 6. : 4.}) == "1.1");
  }

  triggers::MinValueTrigger unused("x", {1, "iteration"});
  const std::string log =
      kusari::testing::stderr_of([&] { CHECK(answers(unused, trainer, updater, 2) == ".."); });  // nothing was reported
  CHECK(log.find("BestValueTrigger: 'x' was not reported; there is nothing") != std::string::npos);
  CHECK(unused.best_value() == std::nullopt);
  serializers::save_npz(dir / "unused", unused);
  serializers::load_npz(dir / "unused", resumed);
  CHECK(resumed.best_value() == std::nullopt);
}

TEST_CASE("EarlyStoppingTrigger waits, and remembers how long over a resume") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater);
  const triggers::EarlyStoppingOptions options{.check_trigger = {1, "iteration"}, .monitor = "x", .patience = 3};
  triggers::EarlyStoppingTrigger trigger(options);
  CHECK(trigger.get_training_length()->period == 100);
  CHECK(answers(trigger, trainer, updater, 6, {5, 4, 4, 3, 3, 6}) == "......");
  serializers::save_npz(dir / "trigger", trigger);
  triggers::EarlyStoppingTrigger resumed({.check_trigger = {1, "iteration"}, .monitor = "x", .patience = 3});
  serializers::load_npz(dir / "trigger", resumed);
  CHECK(answers(resumed, trainer, updater, 1, {4}) == "1");
  triggers::EarlyStoppingTrigger accuracy({.check_trigger = {1, "iteration"}, .monitor = "x/accuracy", .patience = 1});
  trainer.observation().set("x/accuracy", 1);
  updater.update();
  CHECK_FALSE(accuracy(trainer));
  trainer.observation().set("x/accuracy", 2);  // better: accuracies should grow
  updater.update();
  CHECK_FALSE(accuracy(trainer));
  updater.update();
  CHECK(accuracy(trainer));
  CHECK_THROWS_WITH_AS(triggers::EarlyStoppingTrigger({.mode = "large"}), doctest::Contains("'max', 'min' or 'auto'"),
                       kusari::ValueError);
}

TEST_CASE("TimeTrigger asks the trainer's clock") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  int fired = 0, iterations = 0;
  Trainer trainer(
      updater, [&](Trainer&) { return fired == 3; }, dir.path());
  trainer.extend([&](Trainer&) { ++fired; }, {.trigger = triggers::TimeTrigger(0.01)});
  trainer.extend([&](Trainer&) { ++iterations; });
  trainer.run();
  CHECK(trainer.elapsed_time() > 0.03);
  CHECK(iterations >= fired);
}

TEST_CASE("a period and a unit are an interval for each who is given them, other triggers are shared") {
  FakeUpdater updater;
  const ScratchDirectory directory;
  Trainer trainer(updater, {6, "iteration"}, directory / "out");
  const TriggerRef pair(2, "iteration");
  triggers::IntervalTrigger interval(2, "iteration");
  int first = 0, second = 0, later = 0, shared = 0;
  trainer.extend([&](Trainer&) { ++first; }, {.name = "first", .trigger = pair});
  trainer.extend([&](Trainer&) { ++second; }, {.name = "second", .trigger = pair});
  kusari::training::ExtendOptions options{.name = "later"};
  options.trigger = pair;
  trainer.extend([&](Trainer&) { ++later; }, options);
  trainer.extend([&](Trainer&) { ++shared; }, {.name = "a", .trigger = interval});
  trainer.extend([&](Trainer&) { ++shared; }, {.name = "b", .trigger = interval});
  trainer.run();
  CHECK(first == 3);
  CHECK(second == 3);
  CHECK(later == 3);
  CHECK(shared == 3);  // the first to ask has it
}

TEST_CASE("a trigger may be a function, a reference, or absent") {
  FakeUpdater updater;
  Trainer trainer(updater);
  const TriggerRef function = [](Trainer& t) { return t.updater().iteration() == 1; };
  CHECK_FALSE(function(trainer));
  updater.update();
  CHECK(function(trainer));
  triggers::OnceTrigger once;
  const TriggerRef reference = once;
  CHECK(reference(trainer));
  CHECK(once.finished());
  const TriggerRef never;
  CHECK_FALSE(never(trainer));
  CHECK_FALSE(static_cast<bool>(never));
}

TEST_CASE("a trigger is described for people") {
  CHECK(TriggerRef().describe() == "never");
  CHECK(TriggerRef(1, "epoch").describe() == "every epoch");
  CHECK(TriggerRef(100, "iteration").describe() == "every 100 iterations");
  CHECK(TriggerRef(0.5, "epoch").describe() == "every 0.5 epochs");
  CHECK(TriggerRef([](Trainer&) { return true; }).describe() == "a function");
  CHECK(TriggerRef(triggers::MaxValueTrigger("accuracy")).describe() == "MaxValueTrigger");
}
