#include "kusari/framework/training/trainer.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using kusari::report;
using kusari::testing::FakeUpdater;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::training::Extension;
using kusari::training::make_extension;
using kusari::training::Trainer;
namespace training = kusari::training;
namespace serializers = kusari::serializers;
using Events = std::vector<std::string>;

namespace {

/// What `action` writes to stderr.
template <class Action>
std::string stderr_of(const ScratchDirectory& dir, const Action& action) {
  std::fflush(stderr);
  const int saved = ::dup(2);
  REQUIRE(std::freopen((dir / "stderr").c_str(), "w", stderr) != nullptr);
  action();
  std::fflush(stderr);
  ::dup2(saved, 2);
  ::close(saved);
  return read_file(dir / "stderr");
}

class Recorder final : public Extension {
 public:
  Recorder(std::string name, Events& events) : name_{std::move(name)}, events_{&events} {}
  void operator()(Trainer&) override { events_->push_back(name_ + " call"); }
  void initialize(Trainer&) override { events_->push_back(name_ + " initialize"); }
  void finalize() override { events_->push_back(name_ + " finalize"); }
  void on_error(Trainer&, const std::exception& e) override { events_->push_back(name_ + " error " + e.what()); }
  std::string default_name() const override { return name_; }

 private:
  std::string name_;
  Events* events_;
};

}  // namespace

TEST_CASE("Trainer runs until the stop trigger fires, and only once") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  Trainer trainer(updater, {2, "epoch"}, dir / "new/out");
  CHECK(trainer.is_before_training());
  CHECK_THROWS_AS(trainer.elapsed_time(), kusari::StateError);
  trainer.run();
  CHECK(updater.count == 8);
  CHECK(updater.finalized == 1);
  CHECK(std::filesystem::is_directory(dir / "new/out"));
  CHECK_FALSE(trainer.is_before_training());
  CHECK(trainer.elapsed_time() == trainer.elapsed_time());
  CHECK_THROWS_WITH_AS(trainer.run(), "Trainer::run: cannot run training loop multiple times", kusari::StateError);
}

TEST_CASE("the time of a run that failed counts when it is run again") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  updater.on_update = [] {
    ::usleep(20'000);
    throw std::runtime_error("stop");
  };
  CHECK_THROWS_AS(trainer.run(false), std::runtime_error);
  const double failed = trainer.elapsed_time();
  CHECK(failed >= 0.02);
  CHECK(trainer.elapsed_time() == failed);
  double at_start = 0;
  updater.on_update = [&] { at_start = trainer.elapsed_time(); };
  trainer.run();
  CHECK(at_start >= failed);
}

TEST_CASE("Trainer cannot make its directory") {
  const ScratchDirectory dir;
  kusari::testing::write_file(dir / "file", "");
  FakeUpdater updater;
  Trainer trainer(updater, {1, "epoch"}, dir / "file/out");
  CHECK_THROWS_WITH_AS(trainer.run(), doctest::Contains("file/out"), kusari::IoError);
}

TEST_CASE("extensions are called by priority, then in the order in which they came") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  updater.on_update = [&] { events.push_back("update"); };
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  Recorder low("low", events);
  trainer.extend(low, {.priority = 0});
  trainer.extend(Recorder("a", events));
  trainer.extend(Recorder("b", events), {.trigger = {2, "iteration"}, .call_before_training = true});
  trainer.extend(Recorder("writer", events), {.priority = training::kPriorityWriter});
  trainer.run();
  CHECK(events == Events{"writer initialize", "a initialize", "b initialize", "low initialize", "b call", "update",
                         "writer call", "a call", "low call", "update", "writer call", "a call", "b call", "low call",
                         "writer finalize", "a finalize", "b finalize", "low finalize"});
}

TEST_CASE("extensions get names of their own") {
  FakeUpdater updater;
  Events events;
  Trainer trainer(updater);
  Recorder first("name", events), third("name", events);
  trainer.extend(first);
  trainer.extend(Recorder("name", events));
  trainer.extend(third);
  trainer.extend([](Trainer&) {});
  trainer.extend([](Trainer&) {}, {.name = "mine"});
  CHECK(first.name() == "name");
  CHECK(third.name() == "name_2");
  CHECK(&trainer.get_extension("name_2") == &third);
  CHECK(trainer.get_extension("<lambda>").name() == "<lambda>");
  CHECK(trainer.get_extension("mine").name() == "mine");
  CHECK_THROWS_WITH_AS(trainer.get_extension("no"), doctest::Contains("there is no extension 'no'"),
                       kusari::ValueError);
  CHECK_THROWS_WITH_AS(trainer.extend([](Trainer&) {}, {.name = "training"}), doctest::Contains("prohibited"),
                       kusari::ValueError);
}

TEST_CASE("make_extension") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(make_extension([&](Trainer& t) { events.push_back(std::to_string(t.updater().iteration())); },
                                {.trigger = {2, "iteration"},
                                 .default_name = "counter",
                                 .priority = training::kPriorityEditor,
                                 .finalizer = [&] { events.push_back("end"); },
                                 .initializer = [&](Trainer&) { events.push_back("begin"); }}));
  trainer.run();
  CHECK(events == Events{"begin", "2", "end"});
  CHECK(trainer.get_extension("counter").default_priority() == training::kPriorityEditor);
}

TEST_CASE("the observation is made anew in every iteration") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [&] {
    if (updater.count == 1) report({{"first", 1}});
  };
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  std::vector<bool> seen;
  trainer.extend([&](Trainer& t) { seen.push_back(t.observation().contains("first")); });
  trainer.run();
  CHECK(seen == std::vector<bool>{true, false});
  CHECK(kusari::get_current_reporter() == nullptr);
}

TEST_CASE("an exception in the loop is shown, handled, and thrown on") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  updater.on_update = [&] {
    if (updater.count == 3) throw kusari::ValueError("three is too many");
  };
  Trainer trainer(updater, {5, "iteration"}, dir.path());
  trainer.extend(Recorder("a", events), {.trigger = {10, "iteration"}});
  trainer.extend(make_extension(
      [](Trainer&) {}, {.default_name = "careless",
                        .on_error = [](Trainer&, const std::exception&) { throw std::runtime_error("again"); }}));
  const std::string text =
      stderr_of(dir, [&] { CHECK_THROWS_WITH_AS(trainer.run(), "three is too many", kusari::ValueError); });
  CHECK(text ==
        "Exception in main training loop: three is too many\n"
        "Traceback (most recent call last):\n"
        "  Trainer::run, 3 iterations done: update\n"
        "Will finalize trainer extensions and updater before reraising the exception.\n"
        "Exception in error handler: again\n");
  CHECK(events == Events{"a initialize", "a error three is too many", "a finalize"});
  CHECK(updater.finalized == 1);
  CHECK(kusari::get_current_reporter() == nullptr);

  updater.on_update = {};
  trainer.run();  // after an error it may go on
  CHECK(updater.count == 5);
  CHECK(updater.finalized == 2);
}

TEST_CASE("an exception of an extension is located, and can be shown by the program alone") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater, {5, "iteration"}, dir.path());
  trainer.extend([](Trainer&) { throw std::runtime_error("no"); }, {.name = "mine"});
  CHECK(stderr_of(dir, [&] {
          CHECK_THROWS_AS(trainer.run(), std::runtime_error);
        }).find("1 iterations done: extension mine\n") != std::string::npos);
  CHECK(stderr_of(dir, [&] { CHECK_THROWS_AS(trainer.run(false), std::runtime_error); }).empty());
}

TEST_CASE("an extension that cannot be initialized ends the run with finalize alone, and it may be run again") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  bool is_ready = false;
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(Recorder("a", events));
  trainer.extend(make_extension([](Trainer&) {}, {.default_name = "b", .initializer = [&](Trainer&) {
                                                    if (!is_ready) throw std::runtime_error("not ready");
                                                  }}));
  CHECK_THROWS_WITH_AS(trainer.run(), "not ready", std::runtime_error);
  CHECK(events == Events{"a initialize", "a finalize"});
  CHECK(updater.finalized == 1);
  is_ready = true;
  trainer.run();
  CHECK(events == Events{"a initialize", "a finalize", "a initialize", "a call", "a finalize"});
}

TEST_CASE("an extension that fails before the first update ends the run as one that fails later") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(Recorder("a", events));
  trainer.extend([](Trainer&) { throw std::runtime_error("no"); }, {.name = "early", .call_before_training = true});
  CHECK(stderr_of(dir, [&] {
          CHECK_THROWS_AS(trainer.run(), std::runtime_error);
        }).find("0 iterations done: extension early\n") != std::string::npos);
  CHECK(events == Events{"a initialize", "a error no", "a finalize"});
  CHECK(updater.count == 0);
}

TEST_CASE("what is no std::exception ends the loop with finalize alone") {
  struct Interrupt {};
  const ScratchDirectory dir;
  FakeUpdater updater;
  Events events;
  updater.on_update = [] { throw Interrupt(); };
  Trainer trainer(updater, {5, "iteration"}, dir.path());
  trainer.extend(Recorder("a", events));
  CHECK(stderr_of(dir, [&] { CHECK_THROWS_AS(trainer.run(), Interrupt); }).empty());
  CHECK(events == Events{"a initialize", "a finalize"});
  CHECK(updater.finalized == 1);
}

TEST_CASE("a finalizer that fails after a good run is heard, and the others still run") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(make_extension([](Trainer&) {}, {.finalizer = [] { throw std::runtime_error("full disk"); }}));
  CHECK_THROWS_WITH_AS(trainer.run(), "full disk", std::runtime_error);
  CHECK(updater.finalized == 1);
}

TEST_CASE("a trainer's snapshot has Chainer's entries, and time and random numbers go on") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [] { report({{"x", 2}}); };
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(training::extensions::LogReport({.filename = std::nullopt}));
  trainer.extend([](Trainer&) {}, {.name = "other", .trigger = {2, "iteration"}});
  trainer.run();
  kusari::random::seed(9);
  kusari::random::bits();
  serializers::save_npz(dir / "trainer", trainer);
  const uint64_t expected = kusari::random::bits();
  const serializers::NpzReader npz(dir / "trainer");
  for (const char* key :
       {"updater/iteration", "stop_trigger/previous_iteration", "stop_trigger/previous_epoch_detail",
        "extensions/LogReport/_log", "extensions/LogReport/_summary/_names",
        "extensions/LogReport/_summary/_summaries/0/_x", "extensions/LogReport/_trigger/previous_iteration",
        "extension_triggers/LogReport/previous_iteration", "extension_triggers/other/previous_epoch_detail",
        "_snapshot_elapsed_time"}) {
    CAPTURE(key);
    CHECK(npz.contains(key));
  }
  CHECK(npz.array("_snapshot_elapsed_time").item<double>() == trainer.elapsed_time());

  FakeUpdater next;
  Trainer resumed(next, {4, "iteration"}, dir.path());
  resumed.extend(training::extensions::LogReport({.filename = std::nullopt}));
  resumed.extend([](Trainer&) {}, {.name = "other", .trigger = {2, "iteration"}});
  kusari::random::seed(1);
  serializers::load_npz(dir / "trainer", resumed);
  CHECK(kusari::random::bits() == expected);
  CHECK(resumed.observation().at("x") == 2);
  CHECK(next.count == 3);
  double at_start = 0;
  next.on_update = [&] { at_start = resumed.elapsed_time(); };
  resumed.run();
  CHECK(at_start >= trainer.elapsed_time());
  CHECK(next.count == 4);
}
