#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;

namespace {

class TunedNet : public Chain {
 public:
  TunedNet()
      : c1{*this, "c1", 32, 32, 3, {.pad = 1}}, c2{*this, "c2", 32, 32, 3, {.pad = 1}}, l{*this, "l", kInfer, 3} {}
  Variable operator()(const Variable& x) { return l(functions::relu(c2(functions::relu(c1(x))))); }

 private:
  Child<links::Convolution2D> c1, c2;
  Child<links::Linear> l;
};

datasets::TupleDataset images() {
  constexpr int64_t kImages = 12, kSize = 32 * 8 * 8;
  std::vector<float> x(static_cast<size_t>(kImages * kSize));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * static_cast<float>(i * i % 1009));
  return datasets::TupleDataset(array(x, {kImages, 32, 8, 8}), array<int32_t>({0, 1, 2, 2, 1, 0, 0, 1, 2, 1, 2, 0}));
}

/// `test_case` in a process of its own, which knows `directory` and no choices.
void run_child(const std::string& test_case, const testing::ScratchDirectory& directory,
               const std::string& environment = "") {
  const testing::ChildResult child = testing::run_in_child(
      "-u KUSARI_CONVOLUTION KUSARI_AUTOTUNE=1 KUSARI_TEST_DIRECTORY='" + directory.path() + "' " + environment,
      test_case);
  INFO(child.output);
  REQUIRE(child.exit_code == 0);
}

/// Six iterations with a snapshot after the third, or those after the snapshot. The parameters go to "model", the
/// choices of the whole run to "choices".
void train_tuned(const std::string& directory, bool is_resumed) {
  random::seed(42);
  auto data = images();
  links::Classifier<TunedNet> model{TunedNet()};
  optimizers::Adam optimizer;
  optimizer.setup(model);
  updaters::StandardUpdater updater(iterators::SerialIterator(data, 4), optimizer);
  training::Trainer trainer(updater, {6, "iteration"}, directory);
  if (is_resumed) {
    serializers::load_npz(directory + "/snapshot_iter_3", trainer);
  } else {
    trainer.extend(training::extensions::snapshot(), {.trigger = {1, "epoch"}});
  }
  trainer.run();
  serializers::save_npz(directory + "/model", model);
  serializers::save_npz_dictionary(directory + "/choices", {{"choices", {Array(), tuning::choices(), true}}});
}

std::string directory() { return std::getenv("KUSARI_TEST_DIRECTORY"); }

TEST_CASE("train with autotune" * doctest::skip()) { train_tuned(directory(), false); }

TEST_CASE("resume with autotune" * doctest::skip()) { train_tuned(directory(), true); }

std::string choices(const std::string& file, const std::string& key = "choices") {
  return serializers::NpzReader(file).value(key).text;
}

std::vector<std::vector<float>> parameters(const std::string& file) {
  const serializers::NpzReader npz(file);
  std::vector<std::vector<float>> values;
  for (const std::string& key : npz.keys()) values.push_back(npz.array(key).to_vector<float>());
  return values;
}

/// The snapshot with other choices.
void forge(const std::string& file, const std::string& choices) {
  const serializers::NpzReader npz(file);
  serializers::NpzDictionary entries;
  for (const std::string& key : npz.keys()) entries.emplace_back(key, npz.value(key));
  for (auto& [key, value] : entries) {
    if (key == "tuning/choices") value.text = choices;
  }
  serializers::save_npz_dictionary(file, entries);
}

std::string with_algorithm(const std::string& choices, const std::string& algorithm) {
  std::string text;
  for (size_t begin = 0, end; begin < choices.size(); begin = end + 1) {
    end = choices.find('\n', begin);
    text += choices.substr(begin, choices.rfind(" = ", end) - begin) + " = " + algorithm + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("an autotuned run that is resumed takes its choices from the snapshot and gives the same bits") {
  const testing::ScratchDirectory dir;
  const std::string snapshot = dir / "snapshot_iter_3", model = dir / "model";
  run_child("train with autotune", dir);
  const std::string chosen = choices(snapshot, "tuning/choices");
  CHECK(chosen.find("cpu.convolution/1 filter_grad float32 batch 4 channels 32 to 32 ") != std::string::npos);
  CHECK(choices(dir / "choices") == chosen);
  const auto expected = parameters(model);
  run_child("resume with autotune", dir);
  CHECK(choices(dir / "choices") == chosen);
  CHECK(parameters(model) == expected);

  // Choices that no measurement would make together show that nothing is measured.
  std::vector<std::vector<std::vector<float>>> results;
  for (const std::string algorithm : {"im2col", "winograd"}) {
    const std::string forged = with_algorithm(chosen, algorithm);
    forge(snapshot, forged);
    run_child("resume with autotune", dir);
    CHECK(choices(dir / "choices") == forged);
    results.push_back(parameters(model));
    run_child("resume with autotune", dir, "KUSARI_CONVOLUTION=" + algorithm);
    CHECK(parameters(model) == results.back());
  }
  CHECK(results[0] != results[1]);

  forge(snapshot, "no\nchoices\n");
  run_child("resume with autotune", dir);
  CHECK(choices(dir / "choices").size() > 0);
}

TEST_CASE("a snapshot without choices has no entry for them, and is read") {
  const testing::ScratchDirectory dir;
  run_child("train with autotune", dir, "KUSARI_AUTOTUNE=0");
  CHECK_FALSE(serializers::NpzReader(dir / "snapshot_iter_3").contains("tuning/choices"));
  const auto expected = parameters(dir / "model");
  run_child("resume with autotune", dir, "KUSARI_AUTOTUNE=0");
  CHECK(parameters(dir / "model") == expected);
}
