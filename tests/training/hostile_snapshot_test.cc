#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/entry_checksums.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/exponential_shift.h"
#include "kusari/framework/training/extensions/gradient_statistics.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/micro_average.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/framework/training/triggers/best_value_trigger.h"
#include "kusari/framework/training/triggers/early_stopping_trigger.h"
#include "kusari/framework/training/triggers/time_trigger.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// Runs that resume by themselves from snapshots of which one is damaged, or whole with values that make no sense. Both
// happen; the run must go on from the older file, or as if nothing had happened, to the end.
// $KUSARI_TEST_SNAPSHOTS draws are made of each kind instead of the few of the suite, from $KUSARI_TEST_SEED.
using namespace kusari;
using iterators::SerialIterator;
using serializers::Dictionary;
using serializers::Entry;
using testing::ScratchDirectory;

namespace {

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

constexpr int64_t kFewDraws = 150;

class HostileNet : public Chain {
 public:
  HostileNet() : l1{*this, "l1", kInfer, 5}, bn{*this, "bn", kInfer}, l2{*this, "l2", 5, 3} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(bn(l1(x)), 0.3)); }

 private:
  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2;
};

struct HostileRun {
  bool is_plain = true;  // else: 16 bits, several batches a step, and whatever else writes into a snapshot
  bool is_safetensors = false;
  int64_t iterations = 6;
  int64_t started_at = -1;  // iteration from which it went on

  /// Runs to the end in the directory, resuming from what is there; gives all that a snapshot then holds.
  Dictionary operator()(const ScratchDirectory& dir) {
    random::seed(5);
    std::vector<float> x(40);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 11) / 11 - 0.4f;
    const datasets::TupleDataset data(array(x, {10, 4}), array<int32_t>({0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
    links::Classifier<HostileNet> model{HostileNet()};
    optimizers::Adam adam;
    optimizers::MomentumSGD momentum(0.01, 0.9);
    Optimizer& optimizer = is_plain ? static_cast<Optimizer&>(adam) : momentum;
    const auto half = using_config(&Config::dtype, is_plain ? Dtype::float32 : Dtype::float16);
    if (!is_plain) model.to(Dtype::float16);
    optimizer.setup(model);
    if (!is_plain) {
      momentum.use_fp32_update();
      momentum.loss_scaling();
    }
    updaters::StandardUpdater updater(SerialIterator(data, 4), optimizer,
                                      {.accumulate = is_plain ? int64_t{1} : int64_t{3}});
    training::TriggerRef stop{iterations, "iteration"};
    if (!is_plain) {
      stop = training::triggers::EarlyStoppingTrigger(
          {.check_trigger = {1, "iteration"}, .patience = 100, .max_trigger = {iterations, "iteration"}});
    }
    training::Trainer trainer(updater, stop, dir.path());
    trainer.extend(extensions::LogReport({.trigger = {1, "iteration"},
                                          .postprocess =
                                              [](extensions::LogEntry& row) {
                                                for (const char* key : {"elapsed_time", "data_time", "compute_time"}) {
                                                  row.set(key, 0);
                                                }
                                              },
                                          .filename = std::nullopt}));
    trainer.extend(extensions::ExponentialShift(is_plain ? "alpha" : "lr", 0.9), {.trigger = {2, "iteration"}});
    if (!is_plain) {
      trainer.extend(extensions::Evaluator(SerialIterator(data, 4, {.repeat = false, .shuffle = false}), model));
      trainer.extend(extensions::MicroAverage("main/loss", "main/loss", "one", {2, "iteration"}));
      trainer.extend(extensions::GradientStatistics({.trigger = {4, "iteration"}}));
      const auto nothing = [](training::Trainer&) {};
      trainer.extend(nothing, {.name = "best", .trigger = training::triggers::MinValueTrigger("main/loss")});
      trainer.extend(nothing, {.name = "timed", .trigger = training::triggers::TimeTrigger(1000)});
    }
    extensions::SnapshotOptions options{.autoload = true};
    if (is_safetensors) {
      options.writer =
          extensions::snapshot_writers::SimpleWriter([](const std::string& path, const Dictionary& entries) {
            serializers::save_safetensors_dictionary(path, entries);
          });
    }
    trainer.extend(extensions::snapshot(options), {.trigger = {2, "iteration"}});
    trainer.extend(
        training::make_extension([](training::Trainer&) {},
                                 {.default_name = "start", .priority = -200, .initializer = [&](training::Trainer& t) {
                                    started_at = t.updater().iteration();
                                  }}));
    trainer.run(false);
    serializers::DictionarySerializer all;
    trainer.serialize(all);
    return serializers::copied(all.dictionary());
  }
};

/// The entries but for times.
std::map<std::string, std::string> values_of(const Dictionary& entries) {
  std::map<std::string, std::string> result;
  for (const auto& [key, entry] : entries) {
    if (key.find("elapsed_time") != key.npos || key.find("step_times") != key.npos) continue;
    std::string& text = result[key];
    text = entry.text;
    if (!entry.array.is_defined()) continue;
    const Array array = entry.array.contiguous();
    text = to_string(array.shape()) + name(array.dtype());
    text.append(static_cast<const char*>(array.raw_data()), static_cast<size_t>(array.nbytes()));
  }
  return result;
}

/// Snapshots of iterations 2 and 4, and what a run to iteration 6 ends with.
struct Prepared {
  explicit Prepared(HostileRun kind) : run{kind} {
    run.iterations = 4;
    run(dir);
    newest = testing::read_file(dir / "snapshot_iter_4");
    older = testing::read_file(dir / "snapshot_iter_2");
    run.iterations = 6;
    expected = values_of(run(dir));
    CHECK(run.started_at == 4);
    std::filesystem::remove(dir / "snapshot_iter_6");
  }
  /// What a run gives after the newest snapshot was replaced.
  std::map<std::string, std::string> resume(const std::string& content) {
    testing::write_file(dir / "snapshot_iter_4", content);
    return resume();
  }
  std::map<std::string, std::string> resume() {
    std::map<std::string, std::string> result = values_of(run(dir));
    for (const auto& file : std::filesystem::directory_iterator(dir.path())) {
      const std::string name = file.path().filename().string();
      if (name != "snapshot_iter_2" && name != "snapshot_iter_4") std::filesystem::remove_all(file.path());
    }
    testing::write_file(dir / "snapshot_iter_2", older);  // a run that believed to be elsewhere may have written it
    return result;
  }

  ScratchDirectory dir;
  HostileRun run;
  std::string newest, older;
  std::map<std::string, std::string> expected;
};

struct Tally {
  int64_t draws = 0, harmless = 0, passed_over = 0, wrong = 0, ended = 0;
  void print(const char* what, int64_t seed) const {
    std::printf("%s: seed %lld, %lld draws: %lld passed over, %lld harmless, %lld silently wrong, %lld runs ended\n",
                what, static_cast<long long>(seed), static_cast<long long>(draws), static_cast<long long>(passed_over),
                static_cast<long long>(harmless), static_cast<long long>(wrong), static_cast<long long>(ended));
  }
};

/// Resumes once for each draw of `flip`, which gives the place of a bit.
Tally flip_bits(const char* what, HostileRun kind, int64_t draws,
                const std::function<size_t(const std::string&, std::mt19937_64&)>& flip) {
  const testing::QuietLog quiet;
  Prepared prepared(kind);
  const int64_t seed = number_from("KUSARI_TEST_SEED", 1);
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Tally tally;
  for (; tally.draws < draws; ++tally.draws) {
    std::string damaged = prepared.newest;
    const size_t bit = flip(damaged, random);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      const bool is_right = prepared.resume(damaged) == prepared.expected;
      ++(!is_right ? tally.wrong : prepared.run.started_at == 4 ? tally.harmless : tally.passed_over);
      if (!is_right) FAIL_CHECK("bit " << bit << " of " << damaged.size() * 8 << " is silently wrong");
    } catch (const std::exception& error) {
      ++tally.ended;
      FAIL_CHECK("bit " << bit << " of " << damaged.size() * 8 << " ends the run: " << std::string(error.what()));
    }
  }
  tally.print(what, seed);
  CHECK(tally.passed_over > tally.harmless);
  return tally;
}

size_t any_bit(const std::string& file, std::mt19937_64& random) { return random() % (file.size() * 8); }

double odd_number(std::mt19937_64& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {0,          -1,     1,
                             2,          0.5,    7,
                             1e9,        -1e9,   4503599627370497.0,
                             1e300,      -1e300, kInfinity,
                             -kInfinity, 5e-324, 1.7976931348623157e308,
                             -0.0,       100,    3};
  const size_t i = random() % (std::size(kOdd) + 1);
  return i == std::size(kOdd) ? std::numeric_limits<double>::quiet_NaN() : kOdd[i];
}

Array odd_array(const Array& was, std::mt19937_64& random) {
  constexpr int64_t kIntegers[] = {0,
                                   -1,
                                   1,
                                   2,
                                   7,
                                   4,
                                   std::numeric_limits<int64_t>::max(),
                                   1 << 30,
                                   int64_t{1} << 53,
                                   std::numeric_limits<int64_t>::min(),
                                   -5,
                                   100};
  const Shape shape = was.is_defined() ? was.shape() : Shape{};
  Shape other = shape;
  switch (random() % 7) {
    case 0:  // another shape
      other = random() % 2 == 0 ? Shape{} : Shape{static_cast<int64_t>(random() % 4)};
      if (random() % 2 == 0) other = Shape{static_cast<int64_t>(random() % 5), static_cast<int64_t>(random() % 5)};
      if (random() % 4 == 0) other = Shape{200000};
      return full(other, odd_number(random), was.is_defined() ? was.dtype() : Dtype::float32);
    case 1:  // another dtype
      return full(shape, odd_number(random), random() % 2 == 0 ? Dtype::float64 : Dtype::float16);
    case 2:
      return full(shape, kIntegers[random() % std::size(kIntegers)], Dtype::int64);
    case 3:
      return full(shape, random() % 2, random() % 2 == 0 ? Dtype::bool_ : Dtype::uint8);
    default: {
      if (!was.is_defined() || was.size() == 0) return {};
      const Array changed = was.copy();
      const Array flat = changed.reshape({changed.size()});
      const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(flat.size()));
      if (changed.is_floating()) {
        flat.at(at).fill(odd_number(random));
      } else {
        flat.at(at).copy_from(
            array<int64_t>({kIntegers[random() % std::size(kIntegers)]}, Shape{}).astype(was.dtype()));
      }
      return flat.reshape(shape);
    }
  }
}

std::string odd_text(const std::string& was, std::mt19937_64& random) {
  const std::string fixed[] = {"",
                               "[]",
                               "{}",
                               "null",
                               "[null]",
                               "[1]",
                               "[\"a\", \"b\"]",
                               "[{\"epoch\": 1e999}]",
                               "[{\"epoch\": 18446744073709551615, \"iteration\": -9223372036854775808}]",
                               "[{\"main/loss\": \"text\", \"epoch\": [[]]}]",
                               std::string(100000, '['),
                               std::string(1000, '[') + std::string(1000, ']'),
                               "\x1b[2J",
                               "[[\"x\", true]]"};
  if (random() % 2 == 0 || was.empty()) return fixed[random() % std::size(fixed)];
  std::string changed = was;
  changed[random() % changed.size()] = static_cast<char>(' ' + random() % 95);
  return changed;
}

Dictionary with_odd_entry(Dictionary entries, size_t which, std::mt19937_64& random) {
  auto& [key, entry] = entries[which];
  const uint64_t kind = random() % 12;
  if (kind == 0) {
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (kind == 1) {
    entry = Entry{};
  } else if (kind == 2 || (entry.is_text && kind < 11)) {
    entry = Entry{Array(), odd_text(entry.text, random), true};
  } else {
    entry = Entry{odd_array(entry.array, random)};
  }
  return entries;
}

Dictionary entries_of(const std::string& path) {
  Dictionary entries;
  const serializers::NpzReader file(path);
  for (const std::string& key : file.keys()) entries.emplace_back(key, file.value(key));
  return entries;
}

}  // namespace

TEST_CASE("a bit of an .npz snapshot that flips is noticed or harmless") {
  flip_bits("bits of an .npz snapshot", {}, number_from("KUSARI_TEST_SNAPSHOTS", kFewDraws), any_bit);
}

TEST_CASE("a bit of a .safetensors snapshot that flips is noticed or harmless") {
  const int64_t draws = number_from("KUSARI_TEST_SNAPSHOTS", kFewDraws);
  flip_bits("bits of a .safetensors snapshot", {.is_safetensors = true}, draws, any_bit);
  flip_bits("bits of its header", {.is_safetensors = true}, draws,
            [](const std::string& file, std::mt19937_64& random) {
              uint64_t header = 0;
              std::memcpy(&header, file.data(), sizeof(header));
              return random() % ((8 + header) * 8);
            });
}

TEST_CASE("a bit of a zip directory that flips is noticed or harmless") {
  const int64_t draws = number_from("KUSARI_TEST_SNAPSHOTS", kFewDraws);
  flip_bits("bits of names in the directory", {}, std::min<int64_t>(draws, 400),
            [](const std::string& file, std::mt19937_64& random) {
              std::vector<size_t> names;
              for (size_t at = file.find("PK\x01\x02"); at != file.npos; at = file.find("PK\x01\x02", at + 1)) {
                const auto length = static_cast<unsigned char>(file[at + 28]);
                for (size_t i = 0; i < length; ++i) names.push_back(at + 46 + i);
              }
              return names[random() % names.size()] * 8 + random() % 8;
            });
  flip_bits("bits of the directory", {}, draws, [](const std::string& file, std::mt19937_64& random) {
    const size_t begin = file.find("PK\x01\x02");
    return begin * 8 + random() % ((file.size() - begin) * 8);
  });
}

/// Gives an entry in turn an odd value, writes the file and resumes; `is_wrong` says whether what came of it is.
template <class IsWrong>
void resume_with_odd_values(const char* what, Prepared& prepared, const Dictionary& entries, const IsWrong& is_wrong) {
  const int64_t draws = number_from("KUSARI_TEST_SNAPSHOTS", kFewDraws);
  const int64_t seed = number_from("KUSARI_TEST_SEED", 1);
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Tally tally;
  for (; tally.draws < draws; ++tally.draws) {
    const auto which = static_cast<size_t>(tally.draws) % entries.size();
    CAPTURE(entries[which].first);
    serializers::save_npz_dictionary(prepared.dir / "snapshot_iter_4", with_odd_entry(entries, which, random));
    try {
      if (is_wrong(entries[which].first, prepared.resume() == prepared.expected)) {
        ++tally.wrong;
        FAIL_CHECK("entry '" << entries[which].first << "' is silently wrong");
      } else {
        ++(prepared.run.started_at == 2 ? tally.passed_over : tally.harmless);
      }
    } catch (const std::exception& error) {
      ++tally.ended;
      FAIL_CHECK("entry '" << entries[which].first << "' ends the run: " << std::string(error.what()));
    }
  }
  tally.print(what, seed);
  CHECK(tally.passed_over > draws / 4);
}

TEST_CASE("odd values in whole snapshots are noticed or harmless") {
  const testing::QuietLog quiet;
  for (const bool is_plain : {true, false}) {
    Prepared prepared({.is_plain = is_plain});
    resume_with_odd_values(is_plain ? "odd values" : "odd values of more extensions", prepared,
                           entries_of(prepared.dir / "snapshot_iter_4"),
                           [](const std::string&, bool is_right) { return !is_right; });
  }
}

TEST_CASE("odd values in snapshots without checksums neither crash nor end a run") {
  const testing::QuietLog quiet;
  for (const bool is_plain : {true, false}) {
    Prepared prepared({.is_plain = is_plain});
    Dictionary entries = entries_of(prepared.dir / "snapshot_iter_4");
    CHECK(std::erase_if(entries, [](const auto& entry) { return entry.first == serializers::kChecksumsKey; }) == 1);
    // A value that may be is what the run goes on from; what was passed over must have left nothing behind.
    resume_with_odd_values(
        is_plain ? "odd values without checksums" : "odd values of more extensions without checksums", prepared,
        entries, [&](const std::string& key, bool is_right) {
          return prepared.run.started_at == 2 && key != "updater/iteration" && !is_right;
        });
  }
}
