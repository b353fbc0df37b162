#include "kusari/framework/training/extensions/snapshot_writers.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/no_threads.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::snapshot;
using extensions::snapshot_object;
using testing::FakeUpdater;
using testing::ScratchDirectory;
using training::Trainer;
namespace fs = std::filesystem;
namespace writers = extensions::snapshot_writers;

namespace {

constexpr auto kPatience = std::chrono::seconds(20);

enum class Kind { simple, thread, thread_queue, process, process_queue };
constexpr Kind kKinds[] = {Kind::simple, Kind::thread, Kind::thread_queue, Kind::process, Kind::process_queue};
constexpr Kind kBackground[] = {Kind::thread, Kind::thread_queue, Kind::process, Kind::process_queue};
constexpr Kind kQueues[] = {Kind::thread_queue, Kind::process_queue};

template <class Argument>
std::shared_ptr<writers::Writer> make_writer(Kind kind, const Argument& argument) {
  switch (kind) {
    case Kind::simple:
      return std::make_shared<writers::SimpleWriter>(argument);
    case Kind::thread:
      return std::make_shared<writers::ThreadWriter>(argument);
    case Kind::thread_queue:
      return std::make_shared<writers::ThreadQueueWriter>(argument);
    case Kind::process:
      return std::make_shared<writers::ProcessWriter>(argument);
    case Kind::process_queue:
      break;
  }
  return std::make_shared<writers::ProcessQueueWriter>(argument);
}
std::shared_ptr<writers::Writer> make_writer(Kind kind) { return make_writer(kind, serializers::SaveNpzOptions()); }

void save(const std::string& path, const serializers::NpzDictionary& target) {
  serializers::save_npz_dictionary(path, target);
}

/// Whether the file came in time.
bool wait_for(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!fs::exists(path) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return fs::exists(path);
}

/// An array that training changes in place.
struct Counting {
  Array array = zeros({1 << 16}, Dtype::float64);
  int64_t number = 0;
  std::string text = "0";
  void step() {
    ++number;
    text = std::to_string(number);
    array.fill(static_cast<double>(number));
  }
  void serialize(Serializer& serializer) {
    serializer("array", array);
    serializer("number", number);
    serializer("text", text);
  }
};

serializers::NpzDictionary entries_of(Counting& object) {
  serializers::DictionarySerializer serializer;
  object.serialize(serializer);
  return serializer.dictionary();
}

/// Whether the file holds what the object was after so many steps.
void check_file(const std::string& path, int64_t steps) {
  CAPTURE(path);
  Counting read;
  serializers::load_npz(path, read);
  CHECK(read.number == steps);
  CHECK(read.text == std::to_string(steps));
  const std::vector<double> values = read.array.to_vector<double>();
  CHECK(std::count(values.begin(), values.end(), static_cast<double>(steps)) == read.array.size());
}

void run_writer(const ScratchDirectory& dir, int64_t iterations, extensions::Snapshot extension,
                const std::function<void()>& on_update = {}) {
  FakeUpdater updater;
  updater.on_update = on_update;
  Trainer trainer(updater, {iterations, "iteration"}, dir.path());
  trainer.extend(std::move(extension), {.trigger = {1, "iteration"}});
  trainer.run(false);
}

}  // namespace

TEST_CASE("snapshot writers: each file holds what was there when its snapshot was taken") {
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    Counting object;
    run_writer(dir, 5, snapshot_object(object, "object_{.updater.iteration}", {.writer = make_writer(kind)}),
               [&] { object.step(); });
    CHECK(dir.count() == 5);
    for (int64_t i = 1; i <= 5; ++i) check_file(dir / ("object_" + std::to_string(i)), i);
  }
}

TEST_CASE("snapshot writers: without a thread they write at once") {
  const testing::QuietLog quiet;
  for (const Kind kind : {Kind::thread, Kind::thread_queue}) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    Counting object;
    object.step();
    const auto writer = make_writer(kind);
    {
      const testing::NoThreads none;
      (*writer)(dir / "first", entries_of(object));
      check_file(dir / "first", 1);
    }
    object.step();
    (*writer)(dir / "second", entries_of(object));
    writer->finalize();
    check_file(dir / "second", 2);
  }
}

TEST_CASE("snapshot writers: training goes on while a file is written") {
  for (const Kind kind : kBackground) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    const std::string go = dir / "go";
    const auto slow = [&](const std::string& path, const serializers::NpzDictionary& target) {
      if (!wait_for(go)) throw IoError("training has waited for the writer");
      save(path, target);
    };
    Counting object;
    object.step();
    auto extension = snapshot_object(
        object, "object",
        {.condition = [&] { return object.number == 1; }, .writer = make_writer(kind, writers::SaveFunction(slow))});
    int iteration = 0;
    run_writer(dir, 3, std::move(extension), [&] {
      if (++iteration > 1) object.step();
      if (iteration == 3) testing::write_file(go, "");
    });
    check_file(dir / "object", 1);
  }
}

TEST_CASE("snapshot writers with a queue write one file after another, and training waits for none") {
  for (const Kind kind : kQueues) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    const std::string go = dir / "go", busy = dir / "busy";
    const auto slow = [&](const std::string& path, const serializers::NpzDictionary& target) {
      if (!wait_for(go)) throw IoError("training has waited for the writer");
      if (fs::exists(busy)) throw IoError("two files are written at once");
      testing::write_file(busy, path);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      save(path, target);
      fs::remove(busy);
    };
    Counting object;
    run_writer(dir, 4,
               snapshot_object(object, "object_{.updater.iteration}",
                               {.writer = make_writer(kind, writers::SaveFunction(slow)), .n_retains = 3}),
               [&] {
                 object.step();
                 if (object.number == 4) testing::write_file(go, "");
               });
    CHECK_FALSE(fs::exists(dir / "object_1"));
    for (int64_t i = 2; i <= 4; ++i) check_file(dir / ("object_" + std::to_string(i)), i);
  }
}

TEST_CASE("snapshot writers: what goes wrong ends training") {
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    const auto fail = [](const std::string& path, const serializers::NpzDictionary&) {
      throw IoError("no room for " + path);
    };
    Counting object;
    // In the last iteration, when only the end of training can tell, and in the first.
    CHECK_THROWS_WITH_AS(
        run_writer(dir, 1,
                   snapshot_object(object, "object", {.writer = make_writer(kind, writers::SaveFunction(fail))})),
        ("no room for " + (dir / "object")).c_str(), IoError);
    int64_t iterations = 0;
    CHECK_THROWS_AS(
        run_writer(dir, 100000,
                   snapshot_object(object, "object", {.writer = make_writer(kind, writers::SaveFunction(fail))}),
                   [&] {
                     ++iterations;
                     std::this_thread::sleep_for(std::chrono::milliseconds(1));
                   }),
        IoError);
    CHECK(iterations < 100000);
    CHECK(dir.count() == 0);
  }
}

TEST_CASE("snapshot writers: a process that is killed is an error") {
  for (const Kind kind : {Kind::process, Kind::process_queue}) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    const pid_t self = ::getpid();
    const auto die = [&](const std::string&, const serializers::NpzDictionary&) {
      if (::getpid() != self) ::raise(SIGKILL);
    };
    Counting object;
    CHECK_THROWS_WITH_AS(
        run_writer(dir, 1,
                   snapshot_object(object, "object", {.writer = make_writer(kind, writers::SaveFunction(die))})),
        "snapshot writer: its process was ended by signal 9 before the snapshot was written", WorkerError);
  }
}

TEST_CASE("snapshot writers: a writer can be used again after training, and without it") {
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    const std::shared_ptr<writers::Writer> writer = make_writer(kind);
    Counting object;
    for (int i = 0; i < 2; ++i) {
      object.step();
      run_writer(dir, 1, snapshot_object(object, "object", {.writer = *writer}));
      check_file(dir / "object", object.number);
    }
    serializers::DictionarySerializer entries;
    object.serialize(entries);
    make_writer(kind)->operator()(dir / "other", entries.dictionary());  // its end waits
    check_file(dir / "other", object.number);
  }
}

TEST_CASE("snapshot writers: a snapshot that an error asks for is written before training ends") {
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    const ScratchDirectory dir;
    Counting object;
    auto extension = snapshot_object(
        object, "object", {.condition = [] { return false; }, .writer = make_writer(kind), .snapshot_on_error = true});
    CHECK_THROWS_AS(run_writer(dir, 5, std::move(extension),
                               [&] {
                                 object.step();
                                 if (object.number == 3) throw ValueError("no more");
                               }),
                    ValueError);
    check_file(dir / "object", 3);
  }
}

TEST_CASE("snapshot writers: another format") {
  const ScratchDirectory dir;
  Counting object;
  const auto save_safetensors = [](const std::string& path, const serializers::NpzDictionary& target) {
    serializers::save_safetensors_dictionary(path, target);
  };
  const auto extension = [&] {
    return snapshot_object(
        object, "object_{.updater.iteration}.safetensors",
        {.writer = make_writer(Kind::thread, writers::SaveFunction(save_safetensors)), .autoload = true});
  };
  run_writer(dir, 2, extension(), [&] { object.step(); });
  CHECK(serializers::SafetensorsReader(dir / "object_2.safetensors").array("number").item<int64_t>() == 2);
  object = Counting();
  int64_t loaded = 0;
  run_writer(dir, 1, extension(), [&] { loaded = object.number; });
  CHECK(loaded == 2);
}

TEST_CASE("snapshot: autoload passes over damaged files") {
  const ScratchDirectory dir;
  Counting object;
  const auto extension = [&] {
    return snapshot_object(object, "object_{.updater.iteration}", {.n_retains = 5, .autoload = true});
  };
  run_writer(dir, 3, extension(), [&] { object.step(); });
  // Half of the newest one, and a byte of the data of the one before.
  const std::string newest = testing::read_file(dir / "object_3");
  std::string middle = testing::read_file(dir / "object_2");
  middle[middle.size() / 3] = static_cast<char>(middle[middle.size() / 3] ^ 1);
  const auto time = fs::last_write_time(dir / "object_3");
  testing::write_file(dir / "object_2", middle);
  testing::write_file(dir / "object_3", newest.substr(0, newest.size() / 2));
  fs::last_write_time(dir / "object_2", time + std::chrono::seconds(1));
  fs::last_write_time(dir / "object_3", time + std::chrono::seconds(2));
  // And what a killed process has left.
  testing::write_file(dir / ".object_4.tmp-1-2", "half");
  int64_t loaded = -1;
  run_writer(dir, 1, extension(), [&] { loaded = object.number; });
  CHECK(loaded == 1);
  CHECK_FALSE(fs::exists(dir / ".object_4.tmp-1-2"));
  for (const int i : {1, 2, 3}) testing::write_file(dir / ("object_" + std::to_string(i)), "");
  object = Counting();
  run_writer(dir, 1, extension(), [&] { loaded = object.number; });
  CHECK(loaded == 0);
}
