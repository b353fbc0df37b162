#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

// Which snapshots stay and from which one a run goes on, whatever the clock says.
using namespace kusari;
using extensions::snapshot;
using testing::FakeUpdater;
using testing::ScratchDirectory;
using training::Trainer;
namespace fs = std::filesystem;
namespace writers = extensions::snapshot_writers;

namespace {

std::vector<std::string> names_in(const ScratchDirectory& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void set_age(const std::string& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

/// Runs to `iterations` and gives the iteration from which it went on.
int64_t run_to(const ScratchDirectory& dir, int64_t iterations, extensions::SnapshotOptions options,
               int64_t per_epoch = 4) {
  FakeUpdater updater(static_cast<double>(per_epoch));
  int64_t first = -1;
  updater.on_update = [&] { first = first < 0 ? updater.count - 1 : first; };
  Trainer trainer(updater, {iterations, "iteration"}, dir.path());
  trainer.extend(snapshot(std::move(options)), {.trigger = {1, "iteration"}});
  trainer.run(false);
  return first;
}

const std::function<std::shared_ptr<writers::Writer>()> kEachWriter[] = {
    [] { return std::make_shared<writers::SimpleWriter>(); }, [] { return std::make_shared<writers::ThreadWriter>(); },
    [] { return std::make_shared<writers::ThreadQueueWriter>(); },
    [] { return std::make_shared<writers::ProcessWriter>(); },
    [] { return std::make_shared<writers::ProcessQueueWriter>(); }};

}  // namespace

TEST_CASE("a clock that was set back keeps and resumes the newest iteration") {
  for (const auto& make_writer : kEachWriter) {
    for (const int64_t n : {1, 2}) {
      CAPTURE(n);
      const ScratchDirectory dir;
      const auto options = [&] {
        return extensions::SnapshotOptions{.writer = make_writer(), .n_retains = n, .autoload = true};
      };
      run_to(dir, 9, options());
      for (const std::string& name : names_in(dir)) set_age(dir / name, std::chrono::hours(-24));
      CHECK(run_to(dir, 11, options()) == 9);
      const std::vector<std::string> expected = n == 1
                                                    ? std::vector<std::string>{"snapshot_iter_11"}
                                                    : std::vector<std::string>{"snapshot_iter_10", "snapshot_iter_11"};
      CHECK(names_in(dir) == expected);
    }
  }
}

TEST_CASE("files that were copied resume from the newest iteration") {
  const ScratchDirectory dir;
  run_to(dir, 12, {});
  for (int i = 1; i <= 12; ++i) {
    set_age(dir / ("snapshot_iter_" + std::to_string(i)), std::chrono::hours(i));  // the newest is the oldest file
  }
  CHECK(run_to(dir, 13, {.autoload = true}) == 12);
  const ScratchDirectory same;  // all at the same time
  run_to(same, 12, {});
  const auto now = fs::file_time_type::clock::now();
  for (const std::string& name : names_in(same)) fs::last_write_time(same / name, now);
  CHECK(run_to(same, 13, {.autoload = true}) == 12);
}

TEST_CASE("names with epochs are ranked by them, the iteration first") {
  for (const char* const name :
       {"e{.updater.epoch}", "d{.updater.epoch_detail}", "{.updater.epoch}-{.updater.iteration}",
        "{.updater.epoch_detail}_{.updater.iteration}.npz"}) {
    CAPTURE(name);
    const ScratchDirectory dir;
    run_to(dir, 24, {.filename = name}, 2);
    int hours = 0;
    for (const std::string& file : names_in(dir)) set_age(dir / file, std::chrono::hours(7 * ++hours % 24));
    CHECK(run_to(dir, 25, {.filename = name, .n_retains = 1, .autoload = true}, 2) == 24);
    CHECK(names_in(dir).size() == 1);
    CHECK(run_to(dir, 26, {.filename = name, .autoload = true}, 2) == 25);
  }
}

TEST_CASE("the file just written stays, beside a run that was further") {
  for (const auto& make_writer : kEachWriter) {
    const ScratchDirectory dir;
    run_to(dir, 20, {.n_retains = 1});
    CHECK(names_in(dir) == std::vector<std::string>{"snapshot_iter_20"});
    run_to(dir, 3, {.writer = make_writer(), .n_retains = 1});  // from the beginning
    CHECK(names_in(dir) == std::vector<std::string>{"snapshot_iter_20", "snapshot_iter_3"});
  }
}

TEST_CASE("a snapshot that does not fit the trainer is passed over, and the next older one taken whole") {
  const testing::QuietLog quiet;
  const ScratchDirectory dir;
  run_to(dir, 3, {});
  // Without the last entries: the first ones are good.
  serializers::Dictionary entries;
  const serializers::NpzReader file(dir / "snapshot_iter_3");
  for (const std::string& key : file.keys()) {
    if (key.find("_snapshot_elapsed_time") == key.npos) entries.emplace_back(key, file.value(key));
  }
  serializers::save_npz_dictionary(dir / "snapshot_iter_3", entries);
  CHECK(run_to(dir, 4, {.autoload = true}) == 2);
  fs::remove(dir / "snapshot_iter_1");
  fs::remove(dir / "snapshot_iter_2");
  fs::remove(dir / "snapshot_iter_4");
  serializers::save_npz_dictionary(dir / "snapshot_iter_3", entries);
  CHECK(run_to(dir, 1, {.autoload = true}) == 0);  // as if there were none
}
