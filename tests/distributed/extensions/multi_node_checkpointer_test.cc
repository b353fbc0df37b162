#include "kusari/framework/distributed/extensions/multi_node_checkpointer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::create_multi_node_checkpointer;
using testing::FakeUpdater;
using testing::on_ranks;

/// A thing to save: a number.
struct Counter {
  int64_t value = 0;
  void serialize(Serializer& serializer) { serializer("value", value); }
};

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("create_multi_node_checkpointer: files of each rank, the newest that all have, and old ones removed") {
  const testing::ScratchDirectory directory;
  on_ranks<int>(3, [&](Communicator& comm) {
    auto checkpointer =
        create_multi_node_checkpointer("run.1", comm, {.cp_interval = 2, .gc_interval = 3, .path = directory.path()});
    CHECK(checkpointer.get_stats() == "No stats available");
    Counter counter;
    CHECK(!checkpointer.maybe_load(counter).has_value());
    for (int64_t i = 1; i <= 5; ++i) {
      counter.value = 100 * comm.rank() + i;
      checkpointer.save(counter, 10 * i);
    }
    comm.barrier();
    CHECK(std::filesystem::exists(directory / ("run.1." + std::to_string(comm.rank()) + ".10")));
    checkpointer.save(counter, 60);  // the sixth: more than 2 + 3
    comm.barrier();
    CHECK(files_in(directory.path()) ==
          std::vector<std::string>{"run.1.0.50", "run.1.0.60", "run.1.1.50", "run.1.1.60", "run.1.2.50", "run.1.2.60"});
    CHECK(checkpointer.get_stats().starts_with("Snapshot duration stats (sec): avg=0."));
    return 0;
  });

  // Rank 1 was killed before it had written its last; another run's files are there, too.
  std::filesystem::remove(directory / "run.1.1.60");
  std::ofstream(directory / "run.1.0.70x") << "no checkpoint";
  std::ofstream(directory / "run.0.80") << "nor this";
  const auto loaded = on_ranks<int64_t>(3, [&](Communicator& comm) {
    auto checkpointer = create_multi_node_checkpointer("run.1", comm);
    Counter counter;
    CHECK(checkpointer.maybe_load(counter, directory.path()) == 50);
    return counter.value;
  });
  CHECK(loaded == std::vector<int64_t>{5, 105, 205});
}

TEST_CASE("create_multi_node_checkpointer: a damaged file is passed over by all ranks") {
  const testing::ScratchDirectory directory;
  const testing::QuietLog quiet;
  const auto save = [&](Communicator& comm) {
    auto checkpointer = create_multi_node_checkpointer("run", comm, {.path = directory.path()});
    for (int64_t i = 1; i <= 2; ++i) {
      Counter counter{100 * comm.rank() + i};
      checkpointer.save(counter, i);
    }
    return 0;
  };
  on_ranks<int>(2, save);
  std::ofstream(directory / "run.1.2") << "damaged";
  const auto loaded = on_ranks<int64_t>(2, [&](Communicator& comm) {
    auto checkpointer = create_multi_node_checkpointer("run", comm, {.path = directory.path()});
    Counter counter;
    CHECK(checkpointer.maybe_load(counter) == 1);
    return counter.value;
  });
  CHECK(loaded == std::vector<int64_t>{1, 101});
  std::ofstream(directory / "run.0.1") << "damaged";
  CHECK_THROWS_AS(on_ranks<int>(2,
                                [&](Communicator& comm) {
                                  auto checkpointer =
                                      create_multi_node_checkpointer("run", comm, {.path = directory.path()});
                                  Counter counter;
                                  checkpointer.maybe_load(counter);
                                  return 0;
                                }),
                  IoError);
}

TEST_CASE("create_multi_node_checkpointer: a trainer that failed goes on; its files go when training has ended") {
  const testing::ScratchDirectory directory;
  const auto run = [&](Communicator& comm, int64_t fails_at) {
    FakeUpdater updater;
    updater.on_update = [&] {
      if (updater.count == fails_at) throw std::runtime_error("power failure");
    };
    training::Trainer trainer(updater, {8, "iteration"}, directory.path());
    auto checkpointer = create_multi_node_checkpointer("job", comm);
    trainer.extend(checkpointer, {.trigger = {2, "iteration"}});
    const std::optional<int64_t> begun = checkpointer.maybe_load(trainer);
    CHECK(begun.value_or(0) == updater.count);
    if (fails_at > 0) {
      CHECK_THROWS_AS(trainer.run(false), std::runtime_error);
    } else {
      trainer.run();
    }
    return begun.value_or(-1);
  };
  CHECK(on_ranks<int64_t>(2, [&](Communicator& comm) { return run(comm, 5); }) == std::vector<int64_t>{-1, -1});
  CHECK(files_in(directory.path()) == std::vector<std::string>{"job.0.2", "job.0.4", "job.1.2", "job.1.4"});
  CHECK(on_ranks<int64_t>(2, [&](Communicator& comm) { return run(comm, -1); }) == std::vector<int64_t>{4, 4});
  CHECK(files_in(directory.path()).empty());
}

TEST_CASE("create_multi_node_checkpointer: files of before a resume are removed as well") {
  const testing::ScratchDirectory directory;
  const auto checkpointer_of = [&](Communicator& comm) {
    return create_multi_node_checkpointer("run", comm, {.cp_interval = 2, .gc_interval = 1, .path = directory.path()});
  };
  for (const bool goes_on : {true, false}) {
    CAPTURE(goes_on);
    on_ranks<int>(2, [&](Communicator& comm) {
      auto checkpointer = checkpointer_of(comm);
      for (const int64_t i : {1, 2, 3}) {
        Counter own{i};
        checkpointer.save(own, i);
      }
      return 0;
    });
    std::filesystem::copy_file(directory / "run.0.3", directory / "run.0.5");  // rank 1 has none
    on_ranks<int>(2, [&](Communicator& comm) {
      auto checkpointer = checkpointer_of(comm);
      Counter own;
      CHECK(checkpointer.maybe_load(own) == 3);
      comm.barrier();
      if (goes_on) {
        checkpointer.save(own, 4);
        checkpointer.save(own, 5);
      } else {
        checkpointer.finalize();
      }
      return 0;
    });
    const std::vector<std::string> expected{"run.0.4", "run.0.5", "run.1.4", "run.1.5"};
    CHECK(files_in(directory.path()) == (goes_on ? expected : std::vector<std::string>()));
    for (const std::string& file : files_in(directory.path())) std::filesystem::remove(directory / file);
  }
}

TEST_CASE("create_multi_node_checkpointer: files of another number of ranks") {
  const testing::ScratchDirectory directory;
  const testing::QuietLog quiet;
  const auto checkpointer_of = [&](Communicator& comm) {
    return create_multi_node_checkpointer("run", comm, {.path = directory.path()});
  };
  on_ranks<int>(3, [&](Communicator& comm) {
    Counter own{comm.rank() + 1};
    checkpointer_of(comm).save(own, 7);
    return 0;
  });
  const auto load = [&](Communicator& comm) {
    Counter own;
    const std::optional<int64_t> begun = checkpointer_of(comm).maybe_load(own);
    CHECK(!begun.has_value());
    return 0;
  };
  on_ranks<int>(4, load);  // the fourth has none, which is told
  CHECK_THROWS_WITH_AS(on_ranks<int>(2, load), doctest::Contains("has no checkpoint of 'run' that all ranks can read"),
                       IoError);
}

TEST_CASE("create_multi_node_checkpointer: a name with folders") {
  const testing::ScratchDirectory directory;
  on_ranks<int>(2, [&](Communicator& comm) {
    const auto checkpointer_of = [&] {
      return create_multi_node_checkpointer("runs/a", comm, {.path = directory.path()});
    };
    Counter own{3}, loaded;
    checkpointer_of().save(own, 10);
    auto checkpointer = checkpointer_of();
    CHECK(checkpointer.maybe_load(loaded) == 10);
    CHECK(loaded.value == 3);
    comm.barrier();
    checkpointer.finalize();
    return 0;
  });
  CHECK(files_in(directory / "runs").empty());
}

TEST_CASE("create_multi_node_checkpointer: errors") {
  const Communicator alone;
  CHECK_THROWS_WITH_AS(create_multi_node_checkpointer("", alone),
                       "create_multi_node_checkpointer: name is empty: it must name the run", ValueError);
  CHECK_THROWS_WITH_AS(create_multi_node_checkpointer("a", alone, {.cp_interval = 0}),
                       "create_multi_node_checkpointer: cp_interval is 0: it must be positive", ValueError);
  Counter counter;
  auto checkpointer = create_multi_node_checkpointer("a", alone);
  CHECK_THROWS_AS(checkpointer.save(counter, 1), StateError);
  CHECK_THROWS_AS(checkpointer.maybe_load(counter), StateError);
}

}  // namespace
}  // namespace kusari
