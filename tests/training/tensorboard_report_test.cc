#include "kusari/framework/training/extensions/tensorboard_report.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::TensorBoardReport;
using testing::contains;
using testing::read_file;
using testing::ScratchDirectory;
using training::Trainer;

namespace {

struct SgdUpdater : testing::FakeUpdater {
  SgdUpdater() : FakeUpdater(2) {
    sgd.setup(model);
    on_update = [this] { report({{"main/loss", count}, {"other", 1}}); };
  }
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {{"main", &sgd}}; }

  links::Linear model{3, 2};
  optimizers::SGD sgd;
};

std::vector<std::string> event_files(const std::string& directory) {
  std::vector<std::string> contents;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    CHECK(file.path().filename().string().rfind("events.out.tfevents.", 0) == 0);
    contents.push_back(read_file(file.path().string()));
  }
  return contents;
}

/// The end of an event with a scalar: step (below 128), summary, tag and a float32.
std::string scalar(int step, const std::string& tag, float value) {
  const auto byte = [](size_t n) { return std::string(1, static_cast<char>(n)); };
  const std::string number(reinterpret_cast<const char*>(&value), 4);
  return "\x10" + byte(static_cast<size_t>(step)) + "\x2A" + byte(tag.size() + 9) + "\x0A" + byte(tag.size() + 7) +
         "\x0A" + byte(tag.size()) + tag + "\x15" + number;
}

}  // namespace

TEST_CASE("TensorBoardReport writes means, texts and histograms") {
  const ScratchDirectory dir;
  SgdUpdater updater;
  updater.model.cleargrads();
  Trainer trainer(updater, {2, "epoch"}, dir.path());
  trainer.extend(
      TensorBoardReport({.histograms = {2, "epoch"}, .directory = "tensorboard", .configuration = {{"data", "a|b"}}}));
  trainer.run();
  const auto found = event_files(dir / "tensorboard");
  REQUIRE(found.size() == 1);
  CHECK(contains(found[0], scalar(2, "main/loss", 1.5)));
  CHECK(contains(found[0], scalar(4, "main/loss", 3.5)));
  CHECK(contains(found[0], scalar(4, "other", 1)));
  CHECK(contains(found[0], scalar(4, "epoch", 2)));
  CHECK(contains(found[0], "model/main"));
  CHECK(contains(found[0], "    Linear(in_size=3"));
  CHECK(contains(found[0], "| data | a\\|b |\n"));
  CHECK(contains(found[0], "main/W/data*"));
  CHECK_FALSE(contains(found[0], "main/W/grad"));  // no gradient
}

TEST_CASE("TensorBoardReport begins another file after a resume, at the right step") {
  const ScratchDirectory dir;
  SgdUpdater updater;
  TensorBoardReport first({.keys = {"main/loss", "never"}});
  Trainer trainer(updater, {3, "iteration"}, dir / "out");
  trainer.extend(first);
  trainer.run();
  CHECK(contains(event_files(dir / "out")[0], scalar(2, "main/loss", 1.5)));
  CHECK_FALSE(contains(event_files(dir / "out")[0], "other"));
  serializers::save_npz(dir / "snapshot", first);

  TensorBoardReport resumed({.keys = {"main/loss", "never"}});
  serializers::load_npz(dir / "snapshot", resumed);
  Trainer second(updater, {4, "iteration"}, dir / "resumed");
  second.extend(resumed);
  second.run();
  const auto found = event_files(dir / "resumed");
  REQUIRE(found.size() == 1);
  CHECK(contains(found[0], "\x10\x04\x3A\x02\x08\x01"));   // from step 4 on what was written before is no more
  CHECK(contains(found[0], scalar(4, "main/loss", 3.5)));  // of iterations 3 and 4
}

TEST_CASE("TensorBoardReport begins at the right step after a snapshot was loaded automatically") {
  const ScratchDirectory dir;
  for (const int64_t length : {3, 5}) {
    SgdUpdater updater;
    Trainer trainer(updater, {length, "iteration"}, dir.path());
    trainer.extend(extensions::snapshot({.autoload = true}), {.trigger = {3, "iteration"}});
    trainer.extend(TensorBoardReport({.trigger = {1, "iteration"}, .directory = "tensorboard"}));
    trainer.run();
  }
  const auto found = event_files(dir / "tensorboard");
  REQUIRE(found.size() == 2);
  const std::string start = "\x3A\x02\x08\x01";
  const std::string& resumed = contains(found[0], start) ? found[0] : found[1];
  CHECK(contains(resumed, "\x10\x04" + start));
  CHECK(contains(resumed, scalar(5, "main/loss", 5)));
}
