#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/micro_average.h"
#include "kusari/framework/training/extensions/print_report.h"
#include "kusari/framework/training/extensions/progress_bar.h"
#include "kusari/framework/training/extensions/value_observation.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/best_value_trigger.h"
#include "kusari/framework/training/triggers/once_trigger.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using kusari::report;
using kusari::testing::FakeUpdater;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::training::Trainer;
namespace extensions = kusari::training::extensions;
namespace serializers = kusari::serializers;
namespace training = kusari::training;
namespace triggers = kusari::training::triggers;

namespace {

/// What is written to a stream in memory.
class Output {
 public:
  Output() : file_{::open_memstream(&text_, &size_)} {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

/// A terminal, as a program sees one.
class Terminal {
 public:
  Terminal() : master_{::posix_openpt(O_RDWR | O_NOCTTY)} {
    ::setenv("TERM", "xterm", 1);
    REQUIRE(master_ >= 0);
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    file_ = std::fopen(::ptsname(master_), "w");
    REQUIRE(file_ != nullptr);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    std::fclose(file_);
    ::close(master_);
  }
  std::FILE* file() const { return file_; }
  /// What was printed since the last call, with plain line ends.
  std::string text() const {
    std::fflush(file_);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    std::string result;
    char buffer[4096];
    for (ssize_t n; (n = ::read(master_, buffer, sizeof buffer)) > 0;) result.append(buffer, static_cast<size_t>(n));
    for (size_t at; (at = result.find("\r\n")) != std::string::npos;) result.erase(at, 1);
    return result;
  }

 private:
  int master_;
  std::FILE* file_ = nullptr;
};

/// Without what depends on the clock.
std::string mask_numbers_before(std::string text, const std::string& unit) {
  const size_t at = text.find(unit);
  REQUIRE(at != std::string::npos);
  size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  return text.replace(begin, at - begin, "S");
}

}  // namespace

TEST_CASE("LogReport writes means as Chainer does") {
  const ScratchDirectory dir;
  FakeUpdater updater(2);
  updater.on_update = [&] {
    report({{"main/loss", kusari::full({}, 1.0 / static_cast<double>(updater.count), kusari::Dtype::float32)},
            {"pictures", kusari::zeros({2})}});
    if (updater.count == 4) report({{"late", 1e-5}, {"bad", std::numeric_limits<double>::quiet_NaN()}});
  };
  Trainer trainer(updater, {2, "epoch"}, dir / "out");
  extensions::LogReport log;
  trainer.extend(log);
  trainer.run();
  REQUIRE(log.log().size() == 2);
  CHECK(log.log()[0].at("main/loss") == 0.75);
  CHECK(log.log()[0].at("iteration") == 2);
  CHECK(log.log()[0].find("pictures") == nullptr);
  CHECK_THROWS_WITH_AS(log.log()[0].at("late"), doctest::Contains("'main/loss' 'epoch' 'iteration' 'elapsed_time'"),
                       kusari::KeyError);
  CHECK(log.log()[1].at("elapsed_time") > 0);

  auto json = nlohmann::ordered_json::parse(read_file(dir / "out/log"));
  for (auto& row : json) row["elapsed_time"] = 0.5;
  // 0.2916... is the mean of 1/3, as float32 has it, and 1/4
  CHECK(json.dump(4) == R"([
    {
        "main/loss": 0.75,
        "epoch": 1,
        "iteration": 2,
        "elapsed_time": 0.5
    },
    {
        "main/loss": 0.2916666716337204,
        "late": 1e-05,
        "bad": null,
        "epoch": 2,
        "iteration": 4,
        "elapsed_time": 0.5
    }
])");
  CHECK(read_file(dir / "out/log").rfind("[\n    {\n        \"main/loss\": 0.75,\n        \"epoch\": 1,\n", 0) == 0);
}

// Expected: json.dumps(rows, indent=4) of Python 3.11.
TEST_CASE("LogReport writes numbers and names as Python does") {
  const ScratchDirectory dir;
  FakeUpdater updater(1);
  updater.on_update = [] {
    report({{"a\"b", 1234567890123456.0}, {"\xC3\xA9/\n", 1e16}, {"third", 1.0 / 3}, {"whole", 2}, {"small", 2.5e-5}});
  };
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(extensions::LogReport());
  trainer.run();
  const std::string text = read_file(dir / "log");
  CHECK(text.substr(0, text.find("elapsed_time")) == R"([
    {
        "a\"b": 1234567890123456.0,
        "\u00e9/\n": 1e+16,
        "third": 0.3333333333333333,
        "whole": 2.0,
        "small": 2.5e-05,
        "epoch": 1,
        "iteration": 1,
        ")");
  CHECK(text.substr(text.size() - 8) == "\n    }\n]");
}

TEST_CASE("LogReport reads a log with Python's NaN") {
  const ScratchDirectory dir;
  struct Snapshot {
    void serialize(kusari::Serializer& s) {
      kusari::training::TriggerRef(1, "epoch").serialize(*s.child("_trigger"));
      kusari::DictSummary().serialize(*s.child("_summary"));
      kusari::updaters::StepTimes().serialize(*s.child("_step_times"));
      std::string log = R"([{"NaN": NaN, "a\"NaN": -Infinity, "b": Infinity, "epoch": 3}])";
      s("_log", log);
    }
  } snapshot;
  serializers::save_npz(dir / "log.npz", snapshot);
  extensions::LogReport log;
  serializers::load_npz(dir / "log.npz", log);
  REQUIRE(log.log().size() == 1);
  CHECK(std::isnan(log.log()[0].at("NaN")));
  CHECK(std::isnan(log.log()[0].at("a\"NaN")));
  CHECK(log.log()[0].at("epoch") == 3);
}

TEST_CASE("LogReport's options") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [] { report({{"a", 1}, {"b", 2}}); };
  Trainer trainer(updater, {4, "iteration"}, dir.path());
  extensions::LogReport log({.keys = {"b", "c"},
                             .trigger = {2, "iteration"},
                             .postprocess = [](extensions::LogEntry& entry) { entry.set("b", 2 * entry.at("b")); },
                             .filename = "log_{iteration}.json"});
  trainer.extend(log);
  trainer.extend(extensions::LogReport({.filename = std::nullopt}));
  trainer.run();
  CHECK(log.log()[1].at("b") == 4);
  CHECK(log.log()[1].find("a") == nullptr);
  CHECK(nlohmann::json::parse(read_file(dir / "log_2.json")).size() == 1);
  CHECK(nlohmann::json::parse(read_file(dir / "log_4.json")).size() == 2);
  CHECK(dir.count() == 2);
  CHECK(trainer.get_extension<extensions::LogReport>("LogReport_1").log().size() == 1);
}

TEST_CASE("LogReport syncs every file that it leaves behind") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  Trainer trainer(updater, {30, "iteration"}, dir / "out");
  trainer.extend(extensions::LogReport({.trigger = {1, "iteration"}, .filename = "log_{iteration}"}));
  // Files are replaced when they are synced after all: that shows in files that were removed meanwhile.
  int again = 0;
  trainer.extend([&](Trainer& t) {
    const std::string before = dir / "out/log_" + std::to_string(t.updater().iteration() - 1);
    if (std::filesystem::exists(before)) {
      ++again;
      CHECK(nlohmann::json::parse(read_file(before)).size() + 1 == static_cast<size_t>(t.updater().iteration()));
    }
    std::filesystem::remove_all(dir / "out");
    std::filesystem::create_directory(dir / "out");
  });
  trainer.run();
  CHECK(again > 0);  // each after the first, unless rows take a second
  if (std::filesystem::exists(dir / "out/log_30"))
    CHECK(nlohmann::json::parse(read_file(dir / "out/log_30")).size() == 30);
}

TEST_CASE("LogReport goes on with its rows and its interval after a resume") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [&] { report({{"x", updater.count}, {"bad", INFINITY}}); };
  extensions::LogReport log({.trigger = {2, "iteration"}});
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(log);
  trainer.run();
  serializers::save_npz(dir / "log.npz", log);
  CHECK(
      serializers::NpzReader(dir / "log.npz").value("_log").text.rfind(R"([{"x": 1.5, "bad": null, "epoch": 0, )", 0) ==
      0);

  extensions::LogReport resumed({.trigger = {2, "iteration"}});
  serializers::load_npz(dir / "log.npz", resumed);
  REQUIRE(resumed.log().size() == 1);
  CHECK(resumed.log()[0].at("x") == 1.5);
  CHECK(std::isnan(resumed.log()[0].at("bad")));
  CHECK(resumed.log()[0].find("iteration")->is_integer);
  FakeUpdater next;
  next.count = 3;
  next.on_update = updater.on_update;
  updater.count = 4;
  Trainer second(next, {4, "iteration"}, dir.path());
  second.extend(resumed);
  second.run();
  CHECK(resumed.log()[1].at("x") == 3.5);  // of iterations 3 and 4
}

TEST_CASE("LogReport writes a snapshot amid an interval with a name that is not UTF-8") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [] { report({{"a\xFF", 3}}); };
  extensions::LogReport log({.trigger = {2, "iteration"}}), resumed({.trigger = {2, "iteration"}});
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(log);
  trainer.run();
  serializers::save_npz(dir / "log.npz", log);
  serializers::load_npz(dir / "log.npz", resumed);
}

TEST_CASE("LogReport has what an iteration waited for data and computed, over a resume too") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [&] {
    const auto n = static_cast<double>(updater.count);
    updater.times = {updater.times.data + n, updater.times.compute + 0.25, updater.count};
  };
  extensions::LogReport log({.trigger = {2, "iteration"}});
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(log);
  trainer.run();
  REQUIRE(log.log().size() == 1);
  CHECK(log.log()[0].at("data_time") == 1.5);
  CHECK(log.log()[0].at("compute_time") == 0.25);
  std::vector<std::string> keys;
  for (const auto& [key, number] : log.log()[0]) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"epoch", "iteration", "elapsed_time", "data_time", "compute_time"});
  serializers::save_npz(dir / "log.npz", log);

  extensions::LogReport resumed({.trigger = {2, "iteration"}});
  serializers::load_npz(dir / "log.npz", resumed);
  const Output out;
  Trainer second(updater, {4, "iteration"}, dir.path());
  second.extend(resumed);
  second.extend(extensions::PrintReport({"iteration", "data_time", "compute_time"}, {.out = out.file()}));
  second.run();
  CHECK(resumed.log()[1].at("data_time") == 3.5);  // of iterations 3 and 4
  CHECK(out.text().find("\n4           3.5         0.25          \n") != std::string::npos);

  FakeUpdater another;  // whose times begin anew
  another.count = 4;
  another.on_update = [&] { another.times = {4, 2, another.count - 4}; };
  Trainer third(another, {6, "iteration"}, dir.path());
  third.extend(resumed);
  third.run();
  CHECK(resumed.log()[2].at("data_time") == 2);
  CHECK(resumed.log()[2].at("compute_time") == 1);
}

TEST_CASE("PrintReport prints Chainer's table") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  updater.on_update = [&] {
    report({{"main/loss", updater.count <= 4 ? 0.700532078742981 : 0.698765}});
    if (updater.count == 8) report({{"validation/main/loss", 1234567.0}});
  };
  const std::vector<std::string> entries{"epoch", "iteration", "main/loss", "validation/main/loss"};
  const std::string header = "epoch       iteration   main/loss   validation/main/loss\n";
  const std::string rows[] = {"1           4           0.700532                          \n",
                              "2           8           0.698765    1.23457e+06           \n"};
  Trainer trainer(updater, {2, "epoch"}, dir.path());
  trainer.extend(extensions::LogReport());
  SUBCASE("to a file") {
    const Output out;
    trainer.extend(extensions::PrintReport(entries, {.out = out.file()}));
    trainer.run();
    CHECK(out.text() == header + rows[0] + rows[1]);
  }
  SUBCASE("to a terminal") {
    const Terminal out;
    trainer.extend(extensions::PrintReport(entries, {.out = out.file()}));
    trainer.run();
    CHECK(out.text() == header + "\033[J" + rows[0] + "\033[J" + rows[1]);
  }
  SUBCASE("of a log of its own") {
    const Output out;
    extensions::LogReport log({.trigger = {4, "iteration"}, .filename = std::nullopt});
    trainer.extend(extensions::PrintReport(entries, {.own_log = log, .out = out.file()}));
    trainer.run();
    CHECK(out.text() == header + rows[0] + rows[1]);
  }
}

TEST_CASE("PrintReport for Markdown and for programs") {
  const ScratchDirectory dir;
  FakeUpdater updater(1);
  updater.on_update = [&] {
    report({{"loss, \"main\"", 1.0 / 3}});
    if (updater.count == 2) report({{"x", 1e-5}});
  };
  const std::vector<std::string> entries{"epoch", "loss, \"main\"", "x"};
  Trainer trainer(updater, {2, "epoch"}, dir.path());
  trainer.extend(extensions::LogReport());
  const Output markdown, csv;
  trainer.extend(
      extensions::PrintReport(entries, {.out = markdown.file(), .format = extensions::PrintFormat::markdown}));
  trainer.extend(extensions::PrintReport(entries, {.out = csv.file(), .format = extensions::PrintFormat::csv}));
  trainer.run();
  CHECK(markdown.text() ==
        "| epoch      | loss, \"main\" | x          |\n"
        "| ---------: | -----------: | ---------: |\n"
        "| 1          | 0.333333     |            |\n"
        "| 2          | 0.333333     | 1e-05      |\n");
  CHECK(csv.text() ==
        "epoch,\"loss, \"\"main\"\"\",x\n"
        "1,0.3333333333333333,\n"
        "2,0.3333333333333333,1e-05\n");
}

TEST_CASE("PrintReport without its LogReport says so") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  const Output out;
  Trainer trainer(updater, {1, "iteration"}, dir.path());
  trainer.extend(extensions::PrintReport({"epoch"}, {.log_report = "Log", .out = out.file()}));
  CHECK_THROWS_WITH_AS(trainer.run(false), "Trainer::get_extension: there is no extension 'Log', only 'PrintReport'",
                       kusari::ValueError);
  Trainer other(updater, {2, "iteration"}, dir.path());
  other.extend(extensions::PrintReport({"epoch"}, {.log_report = "PrintReport", .out = out.file()}));
  CHECK_THROWS_WITH_AS(other.run(false), "Trainer::get_extension: 'PrintReport' is of another class",
                       kusari::ValueError);
}

TEST_CASE("ProgressBar on a terminal") {
  const ScratchDirectory dir;
  const Terminal out;
  FakeUpdater updater(8);
  Trainer trainer(updater, {2, "epoch"}, dir.path());
  std::vector<std::string> screens;
  trainer.extend(extensions::ProgressBar({.update_interval = 4, .out = out.file()}));
  trainer.extend([&](Trainer&) { screens.push_back(out.text()); }, {.trigger = {4, "iteration"}});
  trainer.run();
  REQUIRE(screens.size() == 4);
  CHECK(mask_numbers_before(screens[0], " iters/sec.").substr(0, 196) ==
        "\033[J     total [############......................................] 25.00%\n"
        "this epoch [#########################.........................] 50.00%\n"
        "         4 iter, 0 epoch / 2 epochs\nS iters/sec. Es");
  CHECK(screens[0].find("       inf iters/sec. Estimated time to finish: 0:00:00.\n\033[4A") != std::string::npos);
  CHECK(screens[3].find("     total [##################################################] 100.00%\n"
                        "this epoch [..................................................]  0.00%\n"
                        "        16 iter, 2 epoch / 2 epochs\n") != std::string::npos);
  CHECK(out.text() == "\033[J");  // finalize
}

TEST_CASE("ProgressBar where there is no terminal") {
  const ScratchDirectory dir;
  const Output seldom, often;
  FakeUpdater updater(8);
  Trainer trainer(updater, {8, "iteration"}, dir.path());
  trainer.extend(extensions::ProgressBar({.update_interval = 4, .out = seldom.file()}));
  trainer.extend(extensions::ProgressBar({.update_interval = 4, .out = often.file(), .plain_interval = 0}));
  trainer.run();
  CHECK(seldom.text().empty());
  const std::string text = often.text();
  CHECK(text.rfind("         4 iter, 0.50 epoch / 8 iterations (50.00%), inf iters/sec\n", 0) == 0);
  CHECK(text.find("\n         8 iter, 1.00 epoch / 8 iterations (100.00%), ") != std::string::npos);
  CHECK(text.find('\033') == std::string::npos);
}

TEST_CASE("ProgressBar says what an iteration is made of, and when it waits for data") {
  const ScratchDirectory dir;
  const Terminal screen;
  const Output lines;
  FakeUpdater updater(8);
  updater.on_update = [&] {
    updater.times.iterations = updater.count;
    updater.times.compute += 0.002;
    updater.times.data += updater.count <= 4 ? 0.001 : 0.0045;
  };
  Trainer trainer(updater, {8, "iteration"}, dir.path());
  trainer.extend(extensions::ProgressBar({.update_interval = 4, .out = screen.file()}));
  trainer.extend(extensions::ProgressBar({.update_interval = 4, .out = lines.file(), .plain_interval = 0}));
  std::vector<std::string> screens;
  trainer.extend([&](Trainer&) { screens.push_back(screen.text()); }, {.trigger = {4, "iteration"}});
  trainer.run();
  REQUIRE(screens.size() == 2);
  CHECK(screens[0].find("iters/sec. Estimated time to finish: 0:00:00.\n"
                        "           1.00 ms data, 2.00 ms compute\n\033[5A") != std::string::npos);
  CHECK(screens[1].find(".\n           4.50 ms data, 2.00 ms compute: input bound\n\033[5A") != std::string::npos);
  CHECK(lines.text().find("inf iters/sec, 1.00 ms data, 2.00 ms compute\n") != std::string::npos);
  CHECK(lines.text().find(" iters/sec, 4.50 ms data, 2.00 ms compute: input bound\n") != std::string::npos);
}

TEST_CASE("ProgressBar without a known length, with one of its own, and with arguments that make no sense") {
  const ScratchDirectory dir;
  const Terminal unknown, known;
  FakeUpdater updater(4);
  Trainer trainer(
      updater, [](Trainer& t) { return t.updater().iteration() == 2; }, dir.path());
  trainer.extend(extensions::ProgressBar({.update_interval = 2, .bar_length = 10, .out = unknown.file()}));
  trainer.extend(extensions::ProgressBar(
      {.training_length = {{4, "iteration"}}, .update_interval = 2, .bar_length = 4, .out = known.file()}));
  trainer.run();
  CHECK(unknown.text().rfind("\033[Jthis epoch [#####.....] 50.00%\n         2 iter, 0 epoch\n       inf iters/sec.\n"
                             "\033[3A",
                             0) == 0);
  CHECK(known.text().rfind("\033[J     total [##..] 50.00%\nthis epoch [##..] 50.00%\n"
                           "         2 iter, 0 epoch / 4 iterations\n",
                           0) == 0);
  CHECK_THROWS_AS(extensions::ProgressBar({.update_interval = 0}), kusari::ValueError);
  CHECK_THROWS_AS(extensions::ProgressBar({.training_length = {{0, "epoch"}}}), kusari::ValueError);
}

TEST_CASE("format_timedelta prints what Python's str(timedelta(seconds=...)) does") {
  CHECK(extensions::format_timedelta(0) == "0:00:00");
  CHECK(extensions::format_timedelta(19.305) == "0:00:19.305000");
  CHECK(extensions::format_timedelta(3661.5) == "1:01:01.500000");
  CHECK(extensions::format_timedelta(86400) == "1 day, 0:00:00");
  CHECK(extensions::format_timedelta(2 * 86400 + 59.9999996) == "2 days, 0:01:00");
  CHECK(extensions::format_timedelta(4e13) == "462962962 days, 23:06:40");
  CHECK(extensions::format_timedelta(-5) == "0:00:00");
  CHECK(extensions::format_timedelta(INFINITY) == "unknown");
  CHECK(extensions::format_timedelta(NAN) == "unknown");
}

TEST_CASE("observe_value and observe_lr come before LogReport") {
  const ScratchDirectory dir;
  FakeUpdater updater(2);
  kusari::optimizers::SGD optimizer(0.25);
  updater.optimizer = &optimizer;
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::observe_lr());
  trainer.extend(extensions::observe_value("twice", [](Trainer& t) { return 2.0 * t.updater().iteration(); }));
  trainer.run();
  CHECK(log.log()[0].at("lr") == 0.25);
  CHECK(log.log()[0].at("twice") == 4);
}

TEST_CASE("observe_lr of an Adam that skips steps") {
  const ScratchDirectory dir;
  kusari::links::Linear model(1, 1);
  kusari::optimizers::Adam adam;
  adam.setup(model);
  adam.loss_scaling();
  FakeUpdater updater;
  updater.optimizer = &adam;
  updater.on_update = [&] {
    for (kusari::Parameter* parameter : model.params()) {
      parameter->set_grad(
          kusari::full(parameter->shape(), updater.count % 2 == 1 ? INFINITY : 1, kusari::Dtype::float32));
    }
    adam.update();
  };
  Trainer trainer(updater, {6, "iteration"}, dir.path());
  trainer.extend(extensions::observe_lr(), {.trigger = {1, "iteration"}});
  std::vector<double> rates, expected;
  trainer.extend([&](Trainer& t) {
    rates.push_back(t.observation().at("lr"));
    if (t.updater().iteration() > 1) expected.push_back(adam.lr());
  });
  trainer.run();
  CHECK(std::isnan(rates[0]));  // no step was done
  rates.erase(rates.begin());
  CHECK(rates == expected);
  CHECK(rates[0] == rates[1]);
  CHECK(rates[1] != rates[2]);
}

TEST_CASE("MicroAverage passes over iterations without its values, and goes on after a resume") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  updater.on_update = [&] {
    if (updater.count != 2) report({{"correct", updater.count}, {"total", 10}});
  };
  extensions::MicroAverage average("correct", "total", "accuracy");
  Trainer trainer(updater, {3, "iteration"}, dir.path());
  trainer.extend(average);
  trainer.run();
  serializers::save_npz(dir / "average.npz", average);
  extensions::MicroAverage resumed("correct", "total", "accuracy");
  serializers::load_npz(dir / "average.npz", resumed);
  Trainer second(updater, {4, "iteration"}, dir.path());
  extensions::LogReport log;
  second.extend(log);
  second.extend(resumed);
  second.run();
  CHECK(log.log()[0].at("accuracy") == doctest::Approx((1 + 3 + 4) / 30.0));
}

TEST_CASE("MicroAverage goes on with the state of any trigger after a resume") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  updater.on_update = [&] { report({{"correct", updater.count}, {"total", 10}}); };
  const auto run = [&](extensions::MicroAverage& average, int64_t until) {
    Trainer trainer(updater, {until, "iteration"}, dir.path());
    std::vector<int64_t> fired;
    trainer.extend(average);
    trainer.extend([&](Trainer& t) {
      if (t.observation().find("accuracy") != nullptr) fired.push_back(t.updater().iteration());
    });
    trainer.run();
    return fired;
  };
  const auto make = [](training::TriggerRef trigger) {
    return extensions::MicroAverage("correct", "total", "accuracy", std::move(trigger));
  };
  auto first = make(triggers::OnceTrigger()), second = make(triggers::OnceTrigger());
  CHECK(run(first, 2) == std::vector<int64_t>{1});
  serializers::save_npz(dir / "once.npz", first);
  serializers::load_npz(dir / "once.npz", second);
  CHECK(run(second, 4).empty());
  auto best = make(triggers::MaxValueTrigger("correct", {1, "iteration"}));
  auto resumed = make(triggers::MaxValueTrigger("correct", {1, "iteration"}));
  CHECK(run(best, 6) == std::vector<int64_t>{5, 6});
  serializers::save_npz(dir / "best.npz", best);
  serializers::load_npz(dir / "best.npz", resumed);
  updater.on_update = [&] { report({{"correct", 1}, {"total", 10}}); };
  CHECK(run(resumed, 8).empty());
}

TEST_CASE("MicroAverage divides sums") {
  const ScratchDirectory dir;
  FakeUpdater updater(2);
  updater.on_update = [&] {
    const bool first = updater.count == 1;
    report({{"correct", first ? 9 : 1}, {"total", first ? 10 : 2}});
  };
  Trainer trainer(updater, {2, "iteration"}, dir.path());
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::MicroAverage("correct", "total", "accuracy"));
  trainer.run();
  CHECK(log.log()[0].at("accuracy") == doctest::Approx(10.0 / 12));
}
