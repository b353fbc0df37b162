#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// Training that is killed at random instants and resumed each time ends with the numbers of training that was not.
// $KUSARI_TEST_KILLS: how many kills, 12 otherwise.
using namespace kusari;
using iterators::SerialIterator;
using serializers::NpzDictionary;
using testing::ScratchDirectory;
namespace fs = std::filesystem;
namespace writers = extensions::snapshot_writers;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWriters = 5;
constexpr int64_t kIterations = 60;
constexpr const char* kOutcome = "outcome.npz";

std::shared_ptr<writers::Writer> writer_of_kind(int kind) {
  switch (kind) {
    case 0:
      return std::make_shared<writers::SimpleWriter>();
    case 1:
      return std::make_shared<writers::ThreadWriter>();
    case 2:
      return std::make_shared<writers::ThreadQueueWriter>();
    case 3:
      return std::make_shared<writers::ProcessWriter>();
    default:
      return std::make_shared<writers::ProcessQueueWriter>();
  }
}

class KilledNet : public Chain {
 public:
  KilledNet() : l1{*this, "l1", 20, 64}, bn{*this, "bn", 64}, l2{*this, "l2", 64, 3} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(functions::relu(bn(l1(x))), 0.3)); }

 private:
  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2;
};

datasets::TupleDataset points() {
  constexpr int64_t kPoints = 200, kDimensions = 20;
  std::vector<float> x(static_cast<size_t>(kPoints * kDimensions));
  std::vector<int32_t> t(static_cast<size_t>(kPoints));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * static_cast<float>(i * i % 1009));
  for (size_t i = 0; i < t.size(); ++i) t[i] = x[i * kDimensions] > 0.3f ? 2 : x[i * kDimensions] > -0.3f ? 1 : 0;
  return datasets::TupleDataset(array(x, {kPoints, kDimensions}), array(t, {kPoints}));
}

bool is_snapshot(const fs::path& file) { return file.filename().string().rfind("snapshot_iter_", 0) == 0; }

bool has_snapshot(const ScratchDirectory& dir) {
  return std::any_of(fs::directory_iterator(dir.path()), fs::directory_iterator(),
                     [](const fs::directory_entry& file) { return is_snapshot(file.path()); });
}

/// Trains from the newest snapshot in the directory, or from the beginning, to the end, and writes all that it ends
/// with.
void train_killed(const ScratchDirectory& dir, int writer) {
  // Numbers that a resumed run drew anew, instead of going on with those of its snapshot, would be others.
  random::seed(has_snapshot(dir) ? 7 : 42);
  const datasets::TupleDataset data = points();
  links::Classifier<KilledNet> model{KilledNet()};
  optimizers::Adam optimizer;
  optimizer.setup(model);
  updaters::StandardUpdater updater(SerialIterator(data, 32), optimizer);
  training::Trainer trainer(updater, {kIterations, "iteration"}, dir.path());
  trainer.extend(extensions::Evaluator(SerialIterator(data, 100, {.repeat = false, .shuffle = false}), model));
  extensions::LogReport log({.trigger = {5, "iteration"}});
  trainer.extend(log);
  trainer.extend(extensions::ExponentialShift("alpha", 0.9), {.trigger = {7, "iteration"}});
  trainer.extend(extensions::snapshot({.writer = writer_of_kind(writer), .n_retains = 2, .autoload = true}),
                 {.trigger = {3, "iteration"}});
  trainer.run();

  serializers::DictionarySerializer all;
  trainer.serialize(all);
  NpzDictionary outcome;
  for (const auto& [key, entry] : all.dictionary()) {
    const bool has_times = key.find("time") != key.npos || key.ends_with("/_log");
    if (!has_times) outcome.emplace_back(key, entry);
  }
  for (size_t row = 0; row < log.log().size(); ++row) {
    for (const auto& [key, number] : log.log()[row]) {
      if (key.ends_with("_time")) continue;
      outcome.emplace_back("log/" + std::to_string(row) + "/" + key,
                           serializers::Entry{array<double>({number.value}, Shape{})});
    }
  }
  serializers::save_npz_dictionary(dir / kOutcome, outcome);
}

/// Trains in a process of its own, which is killed after that many seconds; whether that came too late.
bool train_until_killed(const ScratchDirectory& dir, int writer, std::optional<double> seconds) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 0;
    try {
      set_num_threads(1);  // the parent's worker threads are not in this process
      train_killed(dir, writer);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "kill_test: %s\n", error.what());
      status = 1;
    }
    ::_exit(status);
  }
  if (seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(*seconds));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    CHECK(WTERMSIG(status) == SIGKILL);
    CHECK(seconds.has_value());
    return false;
  }
  CHECK(WEXITSTATUS(status) == 0);
  return true;
}

std::string bytes_of(const serializers::Entry& entry) {
  if (entry.is_text) return "text:" + entry.text;
  if (!entry.array.is_defined()) return "none";
  const Array host = entry.array.contiguous();
  return name(host.dtype()) + to_string(host.shape()) +
         std::string(static_cast<const char*>(host.raw_data()), static_cast<size_t>(host.nbytes()));
}

void check_same_outcome(const ScratchDirectory& dir, const ScratchDirectory& expected) {
  const serializers::NpzReader got(dir / kOutcome), want(expected / kOutcome);
  REQUIRE(got.keys() == want.keys());
  for (const std::string& key : want.keys()) {
    CAPTURE(key);
    CHECK((bytes_of(got.value(key)) == bytes_of(want.value(key))));
  }
  // The last snapshots, whole, and nothing half-written.
  for (const auto& file : fs::directory_iterator(dir.path())) {
    if (is_snapshot(file.path())) {
      const serializers::NpzReader snapshot(file.path().string());
      for (const std::string& key : snapshot.keys()) CHECK_NOTHROW(snapshot.value(key));
    }
  }
  CHECK(fs::exists(dir / ("snapshot_iter_" + std::to_string(kIterations))));
}

}  // namespace

TEST_CASE("training that is killed at random instants ends as if it had not been") {
  const char* const setting = std::getenv("KUSARI_TEST_KILLS");
  const int wanted = setting == nullptr ? 12 : std::atoi(setting);

  const ScratchDirectory expected;
  const auto start = Clock::now();
  REQUIRE(train_until_killed(expected, 0, std::nullopt));
  const double duration = std::chrono::duration<double>(Clock::now() - start).count();

  std::mt19937 generator(1);
  std::uniform_real_distribution<double> instant(0, duration);
  std::vector<std::unique_ptr<ScratchDirectory>> runs(kWriters);
  int kills = 0, resumed = 0, runs_completed = 0;
  const auto complete = [&](int writer) {
    check_same_outcome(*runs[static_cast<size_t>(writer)], expected);
    runs[static_cast<size_t>(writer)].reset();
    ++runs_completed;
  };
  for (int writer = 0; kills < wanted; writer = (writer + 1) % kWriters) {
    CAPTURE(writer);
    auto& dir = runs[static_cast<size_t>(writer)];
    if (dir == nullptr) dir = std::make_unique<ScratchDirectory>();
    if (train_until_killed(*dir, writer, instant(generator))) {
      complete(writer);
    } else {
      ++kills;
      resumed += has_snapshot(*dir);
    }
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    CAPTURE(writer);
    auto& dir = runs[static_cast<size_t>(writer)];
    if (dir == nullptr) continue;
    CHECK(train_until_killed(*dir, writer, std::nullopt));
    complete(writer);
  }
  CHECK(kills == wanted);
  MESSAGE(kills << " kills, " << resumed << " runs resumed from a snapshot, " << runs_completed
                << " runs completed, each of " << duration << " s");
}
