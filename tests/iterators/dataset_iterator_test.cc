#include "kusari/iterators/dataset_iterator.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari::testing;
using kusari::Array;
using kusari::Dtype;
using kusari::datasets::Example;
using kusari::datasets::ExampleRandom;
using kusari::datasets::TransformDataset;
using kusari::iterators::Batch;
using kusari::iterators::DatasetIterator;
using kusari::iterators::OrderSampler;
using kusari::iterators::ShuffleOrderSampler;
namespace serializers = kusari::serializers;

namespace {

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::vector<Indices> take(DatasetIterator& iterator, int batches) {
  std::vector<Indices> result;
  for (int i = 0; i < batches; ++i) result.push_back(values(iterator.next()));
  return result;
}

/// Calls test(iterator_class) for each.
template <class Test>
void for_each_class(const Test& test) {
  for (const IteratorClass& of : iterator_classes()) {
    const std::string name = of.name;
    CAPTURE(name);
    test(of);
  }
}

}  // namespace

// Expected values: what Chainer 7.8.1's SerialIterator answers for 10 examples in batches of 4.
TEST_CASE("iterators count epochs as Chainer does") {
  struct Row {
    Indices batch;
    int64_t epoch;
    double epoch_detail, previous;
    bool is_new_epoch;
    int64_t position;
  };
  const std::vector<Row> rows = {{{0, 1, 2, 3}, 0, 0.4, 0.0, false, 4}, {{4, 5, 6, 7}, 0, 0.8, 0.4, false, 8},
                                 {{8, 9, 0, 1}, 1, 1.2, 0.8, true, 2},  {{2, 3, 4, 5}, 1, 1.6, 1.2, false, 6},
                                 {{6, 7, 8, 9}, 2, 2.0, 1.6, true, 0},  {{0, 1, 2, 3}, 2, 2.4, 2.0, false, 4}};
  for_each_class([&](const IteratorClass& of) {
    const auto iterator = of.make(counting(10), 4, {.shuffle = false});
    CHECK(iterator->epoch() == 0);
    CHECK(iterator->epoch_detail() == 0);
    CHECK_FALSE(iterator->is_new_epoch());
    CHECK(iterator->previous_epoch_detail() == std::nullopt);
    for (const Row& row : rows) {
      CAPTURE(row.epoch_detail);
      CHECK(values(iterator->next()) == row.batch);
      CHECK(iterator->epoch() == row.epoch);
      CHECK(iterator->epoch_detail() == row.epoch_detail);
      CHECK(iterator->previous_epoch_detail() == row.previous);
      CHECK(iterator->is_new_epoch() == row.is_new_epoch);
      CHECK(iterator->current_position() == row.position);
    }
  });
}

TEST_CASE("iterators: a batch larger than the data set spans several epochs") {
  for_each_class([](const IteratorClass& of) {
    const auto iterator = of.make(counting(3), 7, {.shuffle = false});
    CHECK(values(iterator->next()) == Indices{0, 1, 2, 0, 1, 2, 0});
    CHECK(iterator->epoch() == 2);
    CHECK(iterator->is_new_epoch());
    CHECK(iterator->current_position() == 1);
  });
}

TEST_CASE("iterators without repeat end with a short batch") {
  for_each_class([](const IteratorClass& of) {
    const auto iterator = of.make(counting(5), 2, {.repeat = false, .shuffle = false});
    for (int sweep = 0; sweep < 2; ++sweep) {
      std::vector<Indices> batches;
      for (const Batch& batch : *iterator) batches.push_back(values(batch));
      CHECK(batches == std::vector<Indices>{{0, 1}, {2, 3}, {4}});
      CHECK(iterator->epoch() == 1);
      CHECK(iterator->is_new_epoch());
      CHECK(iterator->epoch_detail() == 1.0);
      CHECK(iterator->try_next() == nullptr);
      CHECK(iterator->peek(0) == nullptr);
      CHECK_THROWS_WITH_AS(iterator->next(), doctest::Contains("does not repeat"), kusari::StateError);
      iterator->reset();
      CHECK(iterator->epoch() == 0);
      CHECK(iterator->previous_epoch_detail() == std::nullopt);
    }
    const auto none = of.make(counting(0), 2, {.repeat = false});
    CHECK(none->next().empty());  // as in Chainer: one empty batch, then the end
    CHECK(none->try_next() == nullptr);
  });
}

TEST_CASE("iterators shuffle every sweep anew") {
  std::set<std::vector<Indices>> of_all_classes;
  for_each_class([&](const IteratorClass& of) {
    kusari::random::seed(1);
    const auto iterator = of.make(counting(50), 25, {});
    std::set<Indices> orders;
    std::vector<Indices> in_order;
    for (int epoch = 0; epoch < 5; ++epoch) {
      if (epoch == 4) iterator->reset();
      Indices order = values(iterator->next());
      for (const int64_t i : values(iterator->next())) order.push_back(i);
      CHECK(sorted(order) == ascending(50));
      orders.insert(order);
      in_order.push_back(order);
    }
    CHECK(orders.size() == 5);
    of_all_classes.insert(in_order);
  });
  CHECK(of_all_classes.size() == 1);
}

TEST_CASE("iterators take orders from a sampler") {
  struct Descending final : OrderSampler {
    Indices operator()(std::span<const int64_t> current, int64_t position) override {
      positions.push_back(position);
      Indices order(current.begin(), current.end());
      std::sort(order.rbegin(), order.rend());
      return order;
    }
    Indices positions;
  };
  struct Shrinking final : OrderSampler {
    Indices operator()(std::span<const int64_t>, int64_t) override { return {0}; }
  };
  for_each_class([](const IteratorClass& of) {
    Descending sampler;
    const auto iterator = of.make(counting(5), 2, {.order_sampler = sampler, .n_prefetch = 0});
    CHECK(take(*iterator, 3) == std::vector<Indices>{{4, 3}, {2, 1}, {0, 4}});
    CHECK(sampler.positions == Indices{0, 4});

    CHECK_THROWS_WITH_AS(of.make(counting(3), 1, {.order_sampler = Shrinking()}),
                         (std::string(of.name) + ": the order sampler returned 1 indices for an order of 3").c_str(),
                         kusari::ValueError);
    CHECK_THROWS_WITH_AS(of.make(counting(3), 1, {.shuffle = true, .order_sampler = ShuffleOrderSampler()}),
                         doctest::Contains("both given"), kusari::ValueError);
  });
}

TEST_CASE("iterators refuse what cannot work") {
  for_each_class([](const IteratorClass& of) {
    const std::string name = of.name;
    CHECK_THROWS_WITH_AS(of.make(counting(3), 0, {}), (name + ": batch_size is 0: it must be positive").c_str(),
                         kusari::ValueError);
    for (const int64_t large : {(int64_t{1} << 24) + 1, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
      CHECK_THROWS_WITH_AS(of.make(counting(3), large, {}),
                           (name + ": batch_size is " + std::to_string(large) +
                            ": where the data set repeats it must be at most 16777216, or the data set's 3 examples")
                               .c_str(),
                           kusari::ValueError);
      // All that there is, in one batch.
      const auto once = of.make(counting(3), large, {.repeat = false, .shuffle = false});
      CHECK(values(once->next()) == Indices{0, 1, 2});
      CHECK(once->try_next() == nullptr);
    }
    if (name != "SerialIterator") {
      for (const int64_t many : {int64_t{65537}, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
        CHECK_THROWS_WITH_AS(of.make(counting(3), 1, {.n_prefetch = many}),
                             (name + ": n_prefetch is " + std::to_string(many) + ": it must be at most 65536").c_str(),
                             kusari::ValueError);
      }
    }
    const auto iterator = of.make(counting(0), 1, {});
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_WITH_AS(iterator->next(), doctest::Contains("the data set is empty"), kusari::ValueError);
    }
    CHECK_THROWS_WITH_AS(iterator->peek(-1), doctest::Contains("must not be negative"), kusari::ValueError);
  });
}

TEST_CASE("iterators resume in the middle of an epoch") {
  const ScratchDirectory dir;
  for_each_class([&](const IteratorClass& of) {
    for (const bool seeded : {false, true}) {
      CAPTURE(seeded);
      kusari::random::seed(11);
      Ways ways;
      if (seeded) ways.order_sampler = ShuffleOrderSampler(5);
      const auto iterator = of.make(counting(10), 4, ways);
      take(*iterator, 4);
      serializers::save_npz(dir / "iterator", *iterator);
      const std::vector<Indices> expected = take(*iterator, 9);

      kusari::random::seed(12);
      if (seeded) ways.order_sampler = ShuffleOrderSampler(5);
      const auto resumed = of.make(counting(10), 4, ways);
      resumed->next();
      serializers::load_npz(dir / "iterator", *resumed);
      CHECK(resumed->epoch() == 1);
      CHECK(resumed->current_position() == 6);
      CHECK(resumed->previous_epoch_detail() == 1.2);
      CHECK_FALSE(resumed->is_new_epoch());
      CHECK(take(*resumed, 9) == expected);
    }
  });
}

TEST_CASE("iterators resume from files of Chainer") {
  const ScratchDirectory dir;
  // What Chainer 7's iterators write after two batches of 2 of 5 examples.
  struct OfChainer {
    explicit OfChainer(const char* name) : order_name{name} {}
    void serialize(kusari::Serializer& s) {
      int64_t position = 4, epoch = 0;
      bool is_new_epoch = false;
      double previous_epoch_detail = 0.4;
      Indices order = {3, 1, 4, 0, 2};
      s("current_position", position);
      s("epoch", epoch);
      s("is_new_epoch", is_new_epoch);
      s(order_name, order);
      s("previous_epoch_detail", previous_epoch_detail);
    }
    const char* order_name;
  };
  for_each_class([&](const IteratorClass& of) {
    for (const char* order_name : {"order", "_order"}) {
      OfChainer file(order_name);
      serializers::save_npz(dir / "chainer", file);
      for (const bool sampled : {false, true}) {
        Ways ways;
        if (sampled) ways.order_sampler = ShuffleOrderSampler(2);
        const auto iterator = of.make(counting(5), 2, ways);
        serializers::load_npz(dir / "chainer", *iterator);
        CHECK(iterator->epoch_detail() == 0.8);
        CHECK(iterator->previous_epoch_detail() == 0.4);
        Indices first = values(iterator->next());
        CHECK(first.front() == 2);
        CHECK(iterator->is_new_epoch());
        Indices sweep{first.back()};
        for (const Indices& batch : take(*iterator, 2)) sweep.insert(sweep.end(), batch.begin(), batch.end());
        CHECK(sorted(sweep) == ascending(5));
      }
    }
  });
}

TEST_CASE("iterators write orders that were drawn ahead") {
  const ScratchDirectory dir;
  // Draws from the process's stream, so that asking again gives other orders.
  for_each_class([&](const IteratorClass& of) {
    kusari::random::seed(4);
    const auto iterator = of.make(counting(4), 3, {.order_sampler = ShuffleOrderSampler(), .n_prefetch = 3});
    take(*iterator, 2);
    for (int64_t ahead = 0; ahead < 5; ++ahead) CHECK(iterator->peek(ahead) != nullptr);
    serializers::save_npz(dir / "iterator", *iterator);
    CHECK(serializers::NpzReader(dir / "iterator").array("pending_orders").size() >= 12);
    const std::vector<Indices> expected = take(*iterator, 5);
    kusari::random::seed(5);
    const auto resumed = of.make(counting(4), 3, {.order_sampler = ShuffleOrderSampler()});
    serializers::load_npz(dir / "iterator", *resumed);
    CHECK(take(*resumed, 5) == expected);
  });
}

TEST_CASE("peek shows the batches that next gives") {
  for_each_class([](const IteratorClass& of) {
    kusari::random::seed(2);
    const auto plain = of.make(counting(7), 3, {});
    kusari::random::seed(2);
    const auto peeking = of.make(counting(7), 3, {});
    for (int step = 0; step < 6; ++step) {
      for (const int64_t ahead : {2, 0, 1}) {
        const Batch* const first = peeking->peek(ahead);
        REQUIRE(first != nullptr);
        CHECK(peeking->peek(ahead, false) == first);
      }
      const Indices peeked = values(*peeking->peek(0));
      CHECK(peeking->epoch_detail() == plain->epoch_detail());
      CHECK(values(peeking->next()) == peeked);
      CHECK(values(plain->next()) == peeked);
      CHECK(peeking->epoch_detail() == plain->epoch_detail());
    }
    const auto ending = of.make(counting(5), 2, {.repeat = false, .shuffle = false});
    CHECK(values(*ending->peek(2)) == Indices{4});
    CHECK(ending->peek(3) == nullptr);
    CHECK(take(*ending, 3) == std::vector<Indices>{{0, 1}, {2, 3}, {4}});
    CHECK(ending->try_next() == nullptr);
  });
}

TEST_CASE("what fails ahead is thrown when its batch is due") {
  struct Refusing final : OrderSampler {
    Indices operator()(std::span<const int64_t> current, int64_t) override {
      if (++calls == 2) throw kusari::IoError("no order");
      return {current.begin(), current.end()};
    }
    int calls = 0;
  };
  for_each_class([](const IteratorClass& of) {
    Refusing sampler;
    const auto iterator = of.make(counting(4), 2, {.order_sampler = sampler, .n_prefetch = 2});
    CHECK(values(iterator->next()) == Indices{0, 1});
    CHECK(iterator->peek(1) == nullptr);
    CHECK_THROWS_WITH_AS(iterator->next(), "no order", kusari::IoError);
    CHECK(iterator->epoch_detail() == 0.5);
    CHECK(values(iterator->next()) == Indices{2, 3});  // asked once more, the sampler answers
    CHECK(iterator->epoch() == 1);
  });
}

TEST_CASE("examples have the same random numbers in all iterators") {
  const auto transform = [](const Example& example, ExampleRandom& random) {
    const auto of_process = static_cast<int64_t>(kusari::random::bits() >> 1);
    return Example{
        kusari::array<int64_t>({example[0].item<int64_t>(), static_cast<int64_t>(random.bits() >> 1), of_process})};
  };
  std::set<std::vector<Indices>> distinct;
  for_each_class([&](const IteratorClass& of) {
    for (const int64_t workers : {1, 3}) {
      kusari::random::seed(6);
      const auto iterator = of.make(TransformDataset(counting(6), transform), 4, {.workers = workers});
      const auto state = kusari::random::state();
      std::vector<Indices> drawn;
      std::set<int64_t> numbers;
      for (int i = 0; i < 9; ++i) {
        if (i == 6) iterator->reset();
        for (const Example& example : iterator->next()) {
          drawn.push_back(example[0].to_vector<int64_t>());
          numbers.insert(drawn.back()[1]);
          numbers.insert(drawn.back()[2]);
        }
      }
      CHECK(numbers.size() == 2 * drawn.size());  // other numbers in every sweep
      CHECK(kusari::random::state().offset == state.offset);
      distinct.insert(drawn.front() == drawn.back() ? std::vector<Indices>{} : drawn);
    }
  });
  CHECK(distinct.size() == 1);
}

TEST_CASE("an example that a sampler names twice has two sets of random numbers") {
  struct Twice final : OrderSampler {
    Indices operator()(std::span<const int64_t> current, int64_t) override { return Indices(current.size(), 1); }
  };
  const auto transform = [](const Example&, ExampleRandom& random) {
    return Example{kusari::array<int64_t>({static_cast<int64_t>(random.bits() >> 1)})};
  };
  for_each_class([&](const IteratorClass& of) {
    const auto iterator = of.make(TransformDataset(counting(2), transform), 2, {.order_sampler = Twice()});
    const Batch& batch = iterator->next();
    CHECK(batch[0][0].item<int64_t>() != batch[1][0].item<int64_t>());
  });
}

TEST_CASE("iterators go on after finalize") {
  for_each_class([](const IteratorClass& of) {
    kusari::random::seed(3);
    const auto through = of.make(counting(11), 3, {.n_prefetch = 2});
    kusari::random::seed(3);
    const auto stopped = of.make(counting(11), 3, {.n_prefetch = 2});
    stopped->finalize();  // before anything began, and twice
    for (int i = 0; i < 12; ++i) {
      CHECK(values(stopped->next()) == values(through->next()));
      CHECK(stopped->epoch_detail() == through->epoch_detail());
      if (i % 3 == 0) stopped->peek(1);
      if (i % 2 == 0) stopped->finalize();
      if (i % 4 == 0) stopped->finalize();
    }
    stopped->finalize();
    stopped->reset();
    through->reset();
    CHECK(values(stopped->next()) == values(through->next()));
  });
}

TEST_CASE("iterators may be moved while batches are on the way") {
  using kusari::iterators::MultiprocessIterator;
  using kusari::iterators::MultithreadIterator;
  const auto check = [](auto from, auto other) {
    CHECK(values(from.next()) == Indices{0, 1, 2});
    from.peek(1);
    auto to = std::move(from);
    CHECK(values(to.next()) == Indices{3, 4, 5});
    other.next();
    other = std::move(to);
    CHECK(values(other.next()) == Indices{6, 7, 8});
  };
  check(MultithreadIterator(counting(20), 3, {.shuffle = false, .n_threads = 2}),
        MultithreadIterator(counting(20), 3, {.n_threads = 2}));
  check(MultiprocessIterator(counting(20), 3, {.shuffle = false, .n_processes = 2}),
        MultiprocessIterator(counting(20), 3, {.n_processes = 2}));
}

TEST_CASE("iterators without an order follow a data set that shrinks") {
  class Shrinking final : public kusari::datasets::Dataset {
   public:
    int64_t size() const override { return n; }
    Example get(int64_t i) const override { return {kusari::array<int64_t>({i}).reshape({})}; }
    int64_t n = 10;
  };
  for_each_class([](const IteratorClass& of) {
    for (const bool repeat : {true, false}) {
      Shrinking dataset;
      const auto iterator = of.make(dataset, 4, {.repeat = repeat, .shuffle = false, .n_prefetch = 0});
      iterator->next();
      iterator->next();
      dataset.n = 5;
      if (repeat) {
        CHECK(values(iterator->next()) == Indices{0, 1, 2, 3});  // never more than a batch
        CHECK(iterator->epoch() == 1);
      } else {
        CHECK(iterator->next().empty());
        CHECK(iterator->try_next() == nullptr);
      }
    }
  });
}

TEST_CASE("iterators without repeat take any batch size for all examples") {
  for_each_class([](const IteratorClass& of) {
    const int64_t much = std::string(of.name) == "MultiprocessIterator" ? (int64_t{1} << 31) - 1 : INT64_MAX;
    const auto iterator = of.make(counting(5), much, {.repeat = false, .shuffle = false});
    for (int sweep = 0; sweep < 3; ++sweep) {
      CHECK(values(iterator->next()) == ascending(5));
      CHECK(iterator->try_next() == nullptr);
      iterator->reset();
    }
  });
}

TEST_CASE("a peeked batch stays in its place while others are left out") {
  using kusari::iterators::MultithreadIterator;
  class Holed final : public kusari::datasets::Dataset {
   public:
    int64_t size() const override { return 40; }
    Example get(int64_t i) const override {
      if (i >= 8 && i < 24) throw kusari::ValueError("bad");
      return {kusari::array<int64_t>({i}).reshape({})};
    }
  };
  const QuietLog quiet("off");
  MultithreadIterator iterator(
      Holed(), 4,
      {.shuffle = false, .n_threads = 2, .n_prefetch = 4, .on_failure = kusari::iterators::OnFailure::skip});
  const Batch* const first = iterator.peek(0);
  const Batch* const second = iterator.peek(1);
  CHECK(values(*iterator.peek(2)) == Indices{24, 25, 26, 27});  // four batches between are left out
  CHECK(iterator.peek(0) == first);
  CHECK(iterator.peek(1) == second);
  CHECK(values(*first) == Indices{0, 1, 2, 3});
  CHECK(values(*second) == Indices{4, 5, 6, 7});
}
