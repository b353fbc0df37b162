#include "kusari/framework/training/extensions/snapshot.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::Snapshot;
using extensions::snapshot;
using extensions::snapshot_object;
using testing::FakeUpdater;
using testing::ScratchDirectory;
using training::Trainer;
namespace fs = std::filesystem;

namespace {

/// Names of the files in a directory, sorted.
std::vector<std::string> files(const ScratchDirectory& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void run_snapshots(FakeUpdater& updater, int64_t iterations, const ScratchDirectory& dir, Snapshot extension,
                   training::ExtendOptions options = {.trigger = {1, "iteration"}}) {
  Trainer trainer(updater, {iterations, "iteration"}, dir.path());
  trainer.extend(std::move(extension), std::move(options));
  trainer.run(false);
}

/// Serializes a large array whose elements all have one value: a half-written one would show.
struct Large {
  double value = 0;
  void serialize(Serializer& serializer) {
    Array array = full({1 << 18}, value, Dtype::float64);
    serializer("array", array);
    if (serializer.is_writer()) return;
    value = array.at(0).item<double>();
    const std::vector<double> elements = array.to_vector<double>();
    CHECK(std::count(elements.begin(), elements.end(), value) == array.size());
  }
};

}  // namespace

TEST_CASE("snapshot is taken once an epoch under Chainer's name") {
  const ScratchDirectory dir;
  FakeUpdater updater(2);
  run_snapshots(updater, 4, dir, snapshot(), {});
  CHECK(files(dir) == std::vector<std::string>{"snapshot_iter_2", "snapshot_iter_4"});
  CHECK(serializers::NpzReader(dir / "snapshot_iter_4").array("updater/iteration").item<int64_t>() == 4);
}

TEST_CASE("snapshot's file names") {
  const ScratchDirectory dir;
  FakeUpdater updater(4);
  run_snapshots(updater, 2, dir,
                snapshot({.filename = "e{.updater.epoch}_d{.updater.epoch_detail}_{.updater.iteration}.npz"}));
  CHECK(files(dir) == std::vector<std::string>{"e0_d0.25_1.npz", "e0_d0.5_2.npz"});
  CHECK_THROWS_WITH_AS(snapshot({.filename = "snapshot_{.iteration}"}), doctest::Contains("'{.iteration}'"),
                       ValueError);
  CHECK_THROWS_AS(snapshot({.filename = "snapshot_{"}), ValueError);
  CHECK_THROWS_WITH_AS(snapshot({.filename = "e{.updater.epoch}/s_{.updater.iteration}"}),
                       "snapshot: filename is 'e{.updater.epoch}/s_{.updater.iteration}': fields may be in the name of "
                       "the file, not of its directory, which must be there",
                       ValueError);
}

TEST_CASE("n_retains keeps the newest and touches nothing else") {
  const ScratchDirectory dir;
  for (const char* name : {"snapshot_iter_1.bak", "snapshot_iter_", "snapshot_iter_x", "log"}) {
    testing::write_file(dir / name, "");
  }
  FakeUpdater updater;
  run_snapshots(updater, 12, dir, snapshot({.n_retains = 2}));
  CHECK(files(dir) == std::vector<std::string>{"log", "snapshot_iter_", "snapshot_iter_1.bak", "snapshot_iter_11",
                                               "snapshot_iter_12", "snapshot_iter_x"});
}

TEST_CASE("n_retains knows names with several fields, and what else they may look like") {
  const ScratchDirectory dir;
  for (const char* name : {"best-model.npz", "1-model.npz", "-.npz"}) testing::write_file(dir / name, "");
  FakeUpdater updater(1 << 20);
  run_snapshots(updater, 3, dir, snapshot({.filename = "{.updater.epoch}-{.updater.iteration}.npz", .n_retains = 1}));
  CHECK(files(dir) == std::vector<std::string>{"-.npz", "0-3.npz", "1-model.npz", "best-model.npz"});

  const ScratchDirectory details;  // numbers so small that they have an exponent
  updater.count = 0;
  run_snapshots(updater, 3, details,
                snapshot({.filename = "(d{.updater.epoch_detail})", .n_retains = 1, .autoload = true}));
  CHECK(files(details) == std::vector<std::string>{"(d2.86102294922e-06)"});
}

TEST_CASE("autoload starts from the newest snapshot, or from the beginning") {
  const ScratchDirectory dir;
  FakeUpdater first;
  run_snapshots(first, 3, dir, snapshot({.autoload = true}));
  CHECK(first.count == 3);
  FakeUpdater second;
  int64_t started_at = -1;
  second.on_update = [&] { started_at = started_at < 0 ? second.count : started_at; };
  run_snapshots(second, 5, dir, snapshot({.autoload = true}));
  CHECK(started_at == 4);
  CHECK(second.count == 5);
}

TEST_CASE("snapshots in a directory below are found again") {
  const ScratchDirectory dir;
  fs::create_directory(dir / "below");
  for (const int64_t iterations : {3, 5}) {
    FakeUpdater updater;
    int64_t updates = 0;
    updater.on_update = [&] { ++updates; };
    run_snapshots(updater, iterations, dir,
                  snapshot({.filename = "below/{.updater.iteration}", .n_retains = 2, .autoload = true}));
    CHECK(updates == (iterations == 3 ? 3 : 2));
  }
  CHECK_FALSE(fs::exists(dir / "below/3"));
  CHECK(fs::exists(dir / "below/4"));
  CHECK(fs::exists(dir / "below/5"));
}

TEST_CASE("snapshot's condition") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  run_snapshots(updater, 3, dir, snapshot({.condition = [&] { return updater.count == 2; }}));
  CHECK(files(dir) == std::vector<std::string>{"snapshot_iter_2"});
}

TEST_CASE("snapshot_on_error") {
  const ScratchDirectory dir;
  FakeUpdater updater;
  updater.on_update = [&] {
    if (updater.count == 3) throw ValueError("no more");
  };
  CHECK_THROWS_AS(run_snapshots(updater, 5, dir, snapshot(), {.trigger = {100, "iteration"}}), ValueError);
  CHECK(files(dir).empty());
  updater.count = 0;
  CHECK_THROWS_AS(
      run_snapshots(updater, 5, dir, snapshot({.snapshot_on_error = true}), {.trigger = {100, "iteration"}}),
      ValueError);
  CHECK(files(dir) == std::vector<std::string>{"snapshot_iter_3"});
}

TEST_CASE("snapshot_object saves one object and follows a link that moves") {
  const ScratchDirectory dir;
  auto model = std::make_unique<links::Linear>(2, 1);
  const std::vector<float> weights = model->W.to_vector<float>();
  Snapshot extension = snapshot_object(*model, "model_{.updater.iteration}");
  const links::Linear moved = std::move(*model);
  model.reset();
  FakeUpdater updater;
  run_snapshots(updater, 1, dir, std::move(extension));
  CHECK(serializers::NpzReader(dir / "model_1").keys() == std::vector<std::string>{"W", "b"});
  CHECK(serializers::NpzReader(dir / "model_1").array("W").to_vector<float>() == weights);

  Large object{7};
  run_snapshots(updater, 2, dir, snapshot_object(object, "object"));
  object.value = 0;
  run_snapshots(updater, 2, dir, snapshot_object(object, "object", {.autoload = true}));
  CHECK(object.value == 7);
}

TEST_CASE("a writer of one's own") {
  struct Counting final : extensions::snapshot_writers::Writer {
    void operator()(const std::string& path, serializers::NpzDictionary target) override {
      paths.push_back(path);
      entries = target.size();
    }
    void finalize() override { finalized = true; }
    std::vector<std::string> paths;
    size_t entries = 0;
    bool finalized = false;
  };
  const ScratchDirectory dir;
  Counting writer;
  FakeUpdater updater;
  run_snapshots(updater, 1, dir, snapshot({.writer = writer}));
  CHECK(writer.paths == std::vector<std::string>{dir / "snapshot_iter_1"});
  CHECK(writer.entries > 3);
  CHECK(writer.finalized);
}

TEST_CASE("a snapshot that cannot be written leaves the old one") {
  const ScratchDirectory dir;
  Large object{1};
  FakeUpdater updater;
  run_snapshots(updater, 1, dir, snapshot_object(object, "object"));
  const std::string old = testing::read_file(dir / "object");
  object.value = 2;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};  // bytes: a full disk
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_WITH_AS(run_snapshots(updater, 2, dir, snapshot_object(object, "object")), doctest::Contains("object"),
                       IoError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(testing::read_file(dir / "object") == old);
  CHECK(files(dir) == std::vector<std::string>{"object"});
}

TEST_CASE("a run that is killed while it writes leaves a whole snapshot") {
  const ScratchDirectory dir;
  Large object{0};
  FakeUpdater updater;
  run_snapshots(updater, 1, dir, snapshot_object(object, "object"));
  double last = 0;
  for (int kill = 0; kill < 10; ++kill) {
    int written[2];
    REQUIRE(::pipe(written) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      set_num_threads(1);  // the parent's worker threads are not in this process
      for (object.value = last + 1;; object.value += 1) {
        FakeUpdater endless;
        run_snapshots(endless, 1, dir, snapshot_object(object, "object"));
        if (::write(written[1], "", 1) != 1) std::_Exit(1);
      }
    }
    ::close(written[1]);
    char whole = 0;
    CHECK(::read(written[0], &whole, 1) == 1);  // the child has finished one snapshot and is at the next
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * kill));
    ::kill(child, SIGKILL);
    ::close(written[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    Large restored;
    serializers::load_npz(dir / "object", restored);
    CHECK(restored.value > last);
    last = restored.value;
  }
}
