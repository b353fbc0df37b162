#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// Snapshots whose values, of a file without checksums, are damaged: training goes on with them, or ends with a typed
// error. Never anything else.
using namespace kusari;
using iterators::SerialIterator;
using testing::ScratchDirectory;

namespace {

constexpr int kMutants = 1000;

class DamagedNet : public Chain {
 public:
  DamagedNet() : l1{*this, "l1", 4, 5}, bn{*this, "bn", 5}, l2{*this, "l2", 5, 3} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(bn(l1(x)), 0.3)); }

 private:
  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2;
};

/// Trains three iterations from the snapshot, or from the beginning; saves what comes out where a file is named.
void train_from(const ScratchDirectory& dir, const std::string& from, const std::string& to) {
  const datasets::TupleDataset data(ones({10, 4}), zeros({10}, Dtype::int32));
  links::Classifier<DamagedNet> model{DamagedNet()};
  optimizers::Adam optimizer;
  optimizer.setup(model);
  updaters::StandardUpdater updater(SerialIterator(data, 4), optimizer);
  int iterations = 0;
  training::Trainer trainer(
      updater, [&](training::Trainer&) { return ++iterations > 3; }, dir.path());
  trainer.extend(extensions::Evaluator(SerialIterator(data, 4, {.repeat = false, .shuffle = false}), model));
  trainer.extend(extensions::LogReport({.trigger = {1, "iteration"}, .filename = std::nullopt}));
  trainer.extend(extensions::ExponentialShift("alpha", 0.9), {.trigger = {2, "iteration"}});
  if (!from.empty()) serializers::load_safetensors(from, trainer);
  trainer.run(false);
  if (!to.empty()) serializers::save_safetensors(to, trainer, {.checksums = false});
}

}  // namespace

TEST_CASE("damaged snapshots are resumed or refused") {
  const ScratchDirectory dir;
  const std::string path = dir / "snapshot";
  train_from(dir, "", path);
  const std::string original = testing::read_file(path);
  uint64_t header = 0;
  std::memcpy(&header, original.data(), sizeof(header));
  const size_t data = sizeof(header) + header;
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  int resumed = 0;
  for (int i = 0; i < kMutants; ++i) {
    std::string mutant = original;
    for (size_t k = 0; k < 1 + below(6); ++k) {
      // Mostly values; sometimes the header, whose metadata hold the log and the state of random numbers.
      const size_t at = below(8) == 0 ? below(data) : data + below(mutant.size() - data);
      constexpr uint64_t kExtremes[] = {
          0, 1, 0x7fffffff, 0x80000000, 0x3fffffffffffffff, ~uint64_t{0}, 0x7ff0000000000000};
      const size_t width = std::min<size_t>(below(2) == 0 ? 1 : 8, mutant.size() - at);
      uint64_t value = kExtremes[below(std::size(kExtremes))];
      if (width == 1) value = random();
      // Where numbers of 8 bytes lie, whole ones.
      const size_t place = width == 8 && at >= data ? data + (at - data) / 8 * 8 : at;
      std::memcpy(mutant.data() + place, &value, std::min(width, mutant.size() - place));
    }
    testing::write_file(path, mutant);
    CAPTURE(i);
    try {
      train_from(dir, path, "");
      ++resumed;
    } catch (const Error&) {
    } catch (const std::exception& error) {
      FAIL_CHECK("not one of the library's errors: " << error.what());
    }
  }
  CHECK(resumed > 0);
  CHECK(resumed < kMutants);
}
