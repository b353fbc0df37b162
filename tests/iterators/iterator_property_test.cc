#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/weighted_order_sampler.h"
#include "kusari/tests/iterators/iterators_under_test.h"

using namespace kusari::testing;
using kusari::datasets::Example;
using kusari::datasets::ExampleRandom;
using kusari::datasets::TransformDataset;
using kusari::iterators::Batch;
using kusari::iterators::DatasetIterator;
using kusari::iterators::OrderSampler;
using kusari::iterators::OrderSamplerRef;
using kusari::iterators::ShuffleOrderSampler;
using kusari::iterators::WeightedOrderSampler;
namespace serializers = kusari::serializers;

namespace {

/// Orders that depend on everything a sampler knows, name examples several times, and need what serialize keeps.
struct WalkingSampler final : OrderSampler {
  Indices operator()(std::span<const int64_t> current, int64_t position) override {
    Indices order(current.begin(), current.end());
    const auto n = static_cast<int64_t>(order.size());
    for (int64_t& i : order) i = (i * 3 + position + ++calls) % n;
    return order;
  }
  void serialize(kusari::Serializer& serializer) override { serializer("calls", calls); }
  int64_t calls = 0;
};

/// Reads what a DictionarySerializer gathered: ten thousand files would be written to the disk for much longer.
class DictionaryReader final : public kusari::Serializer {
 public:
  explicit DictionaryReader(const serializers::NpzDictionary& dictionary, std::string prefix = {})
      : dictionary_{dictionary}, prefix_{std::move(prefix)} {}

  bool is_writer() const override { return false; }
  std::unique_ptr<kusari::Serializer> child(const std::string& name) override {
    return std::make_unique<DictionaryReader>(dictionary_, prefix_ + name + "/");
  }
  bool contains(const std::string& name) const override { return find(name) != nullptr; }
  void array(const std::string& name, kusari::Array& value) override { value = at(name).array.copy(); }
  void number(const std::string& name, int64_t& value) override { value = at(name).array.item<int64_t>(); }
  void number(const std::string& name, double& value) override { value = at(name).array.item<double>(); }
  void boolean(const std::string& name, bool& value) override { value = at(name).array.item<bool>(); }
  void text(const std::string& name, std::string& value) override { value = at(name).text; }

 private:
  const serializers::NpzValue* find(const std::string& name) const {
    for (const auto& [key, value] : dictionary_) {
      if (key == prefix_ + name) return &value;
    }
    return nullptr;
  }
  const serializers::NpzValue& at(const std::string& name) const {
    const serializers::NpzValue* const value = find(name);
    if (value == nullptr) throw kusari::KeyError("the snapshot has no " + prefix_ + name);
    return *value;
  }

  const serializers::NpzDictionary& dictionary_;
  std::string prefix_;
};

enum class Sampling { shuffled, in_order, seeded_sampler, process_sampler, walking_sampler, weighted_sampler, kinds };

struct Case {
  int64_t size, batch_size;
  bool repeat;
  Sampling sampling;
  uint64_t seed;
  int steps, stop;  // batches in all, and before the snapshot
  int reset;        // before this step; none: -1

  Ways ways(int64_t workers, int64_t n_prefetch) const {
    Ways result{.repeat = repeat, .workers = workers, .n_prefetch = n_prefetch};
    switch (sampling) {
      case Sampling::in_order:
        result.shuffle = false;
        break;
      case Sampling::seeded_sampler:
        result.order_sampler = ShuffleOrderSampler(seed);
        break;
      case Sampling::process_sampler:
        result.order_sampler = ShuffleOrderSampler();
        break;
      case Sampling::walking_sampler:
        result.order_sampler = WalkingSampler();
        break;
      case Sampling::weighted_sampler:
        if (size == 0) break;  // there is nothing to draw
        result.order_sampler = WeightedOrderSampler(
            std::vector<double>(static_cast<size_t>(size), 0.5),
            {.num_samples = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(2 * size)), .seed = seed});
        break;
      default:
        break;
    }
    return result;
  }
};

/// What one step of a training loop can see of an iterator.
struct Step {
  bool is_end = false;
  std::vector<Indices> examples = {};
  int64_t epoch = 0, position = 0;
  double epoch_detail = 0, previous = -1;
  bool is_new_epoch = false;

  friend bool operator==(const Step&, const Step&) = default;
};

Step step_of(const Batch* batch, const DatasetIterator& iterator) {
  Step step{.is_end = batch == nullptr,
            .epoch = iterator.epoch(),
            .position = iterator.current_position(),
            .epoch_detail = iterator.epoch_detail(),
            .previous = iterator.previous_epoch_detail().value_or(-1),
            .is_new_epoch = iterator.is_new_epoch()};
  if (batch == nullptr) return step;
  for (const Example& example : *batch) {
    step.examples.emplace_back();
    for (const kusari::Array& component : example) {
      for (const int64_t value : component.to_vector<int64_t>()) step.examples.back().push_back(value);
    }
  }
  return step;
}

Step next(DatasetIterator& iterator) {
  const Batch* const batch = iterator.try_next();
  return step_of(batch, iterator);
}

/// Numbers with random ones of the example and of the thread's stream; every fifth has another shape.
TransformDataset drawing(int64_t n) {
  return {counting(n), [](const Example& example, ExampleRandom& random) {
            const auto drawn = [](uint64_t bits) { return static_cast<int64_t>(bits >> 1); };
            const auto i = example[0].item<int64_t>();
            if (i % 5 == 4) return Example{example[0], kusari::array<int64_t>({drawn(random.bits()), i})};
            return Example{example[0], kusari::array<int64_t>({drawn(random.bits()), drawn(kusari::random::bits()),
                                                               drawn(random.bits())})};
          }};
}

/// Whether an iterator of class `first`, stopped and resumed as one of class `second`, does what `expected` says.
std::string differs(const Case& of, const std::vector<Step>& expected, const IteratorClass& first,
                    const IteratorClass& second, ExampleRandom& choose) {
  const auto make = [&](const IteratorClass& which) {
    return which.make(drawing(of.size), of.batch_size, of.ways(1 + choose.integer(8), choose.integer(4)));
  };
  const auto run = [&](DatasetIterator& iterator, int begin, int end) -> std::string {
    for (int i = begin; i < end; ++i) {
      if (i == of.reset) iterator.reset();
      if (choose.chance(0.1)) iterator.peek(choose.integer(3), choose.chance(0.5));
      if (!(next(iterator) == expected[static_cast<size_t>(i)])) return "at batch " + std::to_string(i);
    }
    return {};
  };
  kusari::random::seed(of.seed);
  const std::unique_ptr<DatasetIterator> stopped = make(first);
  if (const std::string where = run(*stopped, 0, of.stop); !where.empty()) return where + " before the stop";
  serializers::DictionarySerializer snapshot;
  stopped->serialize(snapshot);
  const auto state = kusari::random::state();
  // The snapshot must not have disturbed it.
  const int more = std::min(of.steps, of.stop + static_cast<int>(choose.integer(3)));
  if (const std::string where = run(*stopped, of.stop, more); !where.empty()) return where + " after the snapshot";

  const std::unique_ptr<DatasetIterator> resumed = make(second);
  if (choose.chance(0.3)) resumed->try_next();
  DictionaryReader reader(snapshot.dictionary());
  resumed->serialize(reader);
  kusari::random::set_state(state);
  if (const std::string where = run(*resumed, of.stop, of.steps); !where.empty()) return where + " after resuming";
  return {};
}

const IteratorClass& any_class(ExampleRandom& choose) {
  int64_t total = 0;
  for (const IteratorClass& of : iterator_classes()) total += of.weight;
  int64_t drawn = choose.integer(total);
  for (const IteratorClass& of : iterator_classes()) {
    if ((drawn -= of.weight) < 0) return of;
  }
  return iterator_classes().back();
}

}  // namespace

TEST_CASE("iterators: any class with any workers, stopped anywhere and resumed as any class, gives one sequence") {
  const char* const wanted = std::getenv("KUSARI_ITERATOR_CASES");
  const int64_t cases = wanted != nullptr ? std::atoll(wanted) : 10'000;
  for (int64_t number = 0; number < cases; ++number) {
    ExampleRandom choose(0xca5e, 0, number);
    Case of{};
    of.size = choose.integer(51);
    of.batch_size = 1 + choose.integer(choose.chance(0.3) ? 60 : 8);
    of.repeat = of.size > 0 && choose.chance(0.6);
    of.sampling = static_cast<Sampling>(choose.integer(static_cast<int64_t>(Sampling::kinds)));
    of.seed = choose.bits();
    of.steps = static_cast<int>(1 + choose.integer(12));
    of.stop = static_cast<int>(choose.integer(of.steps + 1));
    // After a reset, orders that were drawn ahead serve: they do not know that the order was reset.
    const bool may_reset = of.sampling != Sampling::walking_sampler;
    of.reset = may_reset && choose.chance(0.3) ? static_cast<int>(choose.integer(of.steps)) : -1;

    kusari::random::seed(of.seed);
    const std::unique_ptr<DatasetIterator> reference = make_serial(drawing(of.size), of.batch_size, of.ways(1, 0));
    std::vector<Step> expected;
    for (int i = 0; i < of.steps; ++i) {
      if (i == of.reset) reference->reset();
      expected.push_back(next(*reference));
    }
    const IteratorClass &first = any_class(choose), &second = any_class(choose);
    const std::string difference = differs(of, expected, first, second, choose);
    if (difference.empty()) continue;
    FAIL("case " << number << ": " << first.name << ", resumed as " << second.name << ", differs " << difference << " ("
                 << of.size << " examples, batches of " << of.batch_size << ", repeat " << of.repeat << ", sampling "
                 << static_cast<int>(of.sampling) << ", reset before " << of.reset << ", stopped before " << of.stop
                 << ")");
  }
}
