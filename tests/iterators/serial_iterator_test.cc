#include "kusari/iterators/serial_iterator.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

using kusari::arange;
using kusari::Dtype;
using kusari::datasets::TupleDataset;
using kusari::iterators::Batch;
using kusari::iterators::OrderSampler;
using kusari::iterators::SerialIterator;
using kusari::iterators::ShuffleOrderSampler;
using Indices = std::vector<int64_t>;
namespace serializers = kusari::serializers;

namespace {

TupleDataset counting(int64_t n) { return TupleDataset(arange(n, Dtype::int64)); }

Indices values(const Batch& batch) {
  Indices result;
  for (const auto& example : batch) result.push_back(example[0].item<int64_t>());
  return result;
}

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

Indices ascending(int64_t n) {
  Indices indices(static_cast<size_t>(n));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

}  // namespace

// Expected values: what Chainer 7.8.1's SerialIterator answers for 10 examples in batches of 4.
TEST_CASE("SerialIterator counts epochs as Chainer does") {
  SerialIterator iterator(counting(10), 4, {.shuffle = false});
  CHECK(iterator.epoch() == 0);
  CHECK(iterator.epoch_detail() == 0);
  CHECK_FALSE(iterator.is_new_epoch());
  CHECK(iterator.previous_epoch_detail() == std::nullopt);
  struct Row {
    Indices batch;
    int64_t epoch;
    double epoch_detail, previous;
    bool is_new_epoch;
    int64_t position;
  };
  for (const Row& row : {Row{{0, 1, 2, 3}, 0, 0.4, 0.0, false, 4}, Row{{4, 5, 6, 7}, 0, 0.8, 0.4, false, 8},
                         Row{{8, 9, 0, 1}, 1, 1.2, 0.8, true, 2}, Row{{2, 3, 4, 5}, 1, 1.6, 1.2, false, 6},
                         Row{{6, 7, 8, 9}, 2, 2.0, 1.6, true, 0}, Row{{0, 1, 2, 3}, 2, 2.4, 2.0, false, 4}}) {
    CAPTURE(row.epoch_detail);
    CHECK(values(iterator.next()) == row.batch);
    CHECK(iterator.epoch() == row.epoch);
    CHECK(iterator.epoch_detail() == row.epoch_detail);
    CHECK(iterator.previous_epoch_detail() == row.previous);
    CHECK(iterator.is_new_epoch() == row.is_new_epoch);
    CHECK(iterator.current_position() == row.position);
  }
}

TEST_CASE("SerialIterator: a batch larger than the data set spans several epochs") {
  SerialIterator iterator(counting(3), 7, {.shuffle = false});
  CHECK(values(iterator.next()) == Indices{0, 1, 2, 0, 1, 2, 0});
  CHECK(iterator.epoch() == 2);
  CHECK(iterator.is_new_epoch());
  CHECK(iterator.current_position() == 1);
}

TEST_CASE("SerialIterator without repeat ends with a short batch") {
  SerialIterator iterator(counting(5), 2, {.repeat = false, .shuffle = false});
  for (int sweep = 0; sweep < 2; ++sweep) {
    std::vector<Indices> batches;
    for (const Batch& batch : iterator) batches.push_back(values(batch));
    CHECK(batches == std::vector<Indices>{{0, 1}, {2, 3}, {4}});
    CHECK(iterator.epoch() == 1);
    CHECK(iterator.is_new_epoch());
    CHECK(iterator.epoch_detail() == 1.0);
    CHECK(iterator.try_next() == nullptr);
    CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("does not repeat"), kusari::StateError);
    iterator.reset();
    CHECK(iterator.epoch() == 0);
    CHECK(iterator.previous_epoch_detail() == std::nullopt);
  }
  SerialIterator none(counting(0), 2, {.repeat = false});
  CHECK(none.next().empty());  // as in Chainer: one empty batch, then the end
  CHECK(none.try_next() == nullptr);
}

TEST_CASE("SerialIterator shuffles every sweep anew") {
  kusari::random::seed(1);
  SerialIterator iterator(counting(50), 25);
  std::set<Indices> orders;
  for (int epoch = 0; epoch < 4; ++epoch) {
    Indices order = values(iterator.next());
    for (const int64_t i : values(iterator.next())) order.push_back(i);
    CHECK(sorted(order) == ascending(50));
    orders.insert(order);
  }
  CHECK(orders.size() == 4);
  iterator.reset();
  CHECK(iterator.epoch() == 0);
  kusari::random::seed(1);
  SerialIterator again(counting(50), 25);
  CHECK(orders.contains([&] {
    Indices order = values(again.next());
    for (const int64_t i : values(again.next())) order.push_back(i);
    return order;
  }()));
}

TEST_CASE("SerialIterator refers to an lvalue and owns an rvalue") {
  const TupleDataset dataset = counting(3);
  SerialIterator referring(dataset, 1);
  CHECK(&referring.dataset() == &dataset);
  SerialIterator owning(counting(3), 1);
  CHECK(owning.dataset().size() == 3);
}

TEST_CASE("order samplers") {
  struct Descending final : OrderSampler {
    Indices operator()(std::span<const int64_t> current, int64_t position) override {
      positions.push_back(position);
      Indices order(current.begin(), current.end());
      std::sort(order.rbegin(), order.rend());
      return order;
    }
    Indices positions;
  };
  Descending sampler;
  SerialIterator iterator(counting(5), 2, {.order_sampler = sampler});
  CHECK(values(iterator.next()) == Indices{4, 3});
  CHECK(values(iterator.next()) == Indices{2, 1});
  CHECK(values(iterator.next()) == Indices{0, 4});
  CHECK(sampler.positions == Indices{0, 4});

  struct Shrinking final : OrderSampler {
    Indices operator()(std::span<const int64_t>, int64_t) override { return {0}; }
  };
  CHECK_THROWS_WITH_AS(SerialIterator(counting(3), 1, {.order_sampler = Shrinking()}),
                       "SerialIterator: the order sampler returned 1 indices for an order of 3", kusari::ValueError);
  CHECK_THROWS_WITH_AS(SerialIterator(counting(3), 1, {.shuffle = true, .order_sampler = ShuffleOrderSampler()}),
                       doctest::Contains("both given"), kusari::ValueError);
}

TEST_CASE("ShuffleOrderSampler with a seed leaves the process's stream alone") {
  const Indices order = ascending(20);
  ShuffleOrderSampler a(7), b(7), c(8);
  kusari::random::seed(3);
  const Indices first = a(order, 0);
  CHECK(sorted(first) == order);
  const uint64_t bits = kusari::random::bits();
  kusari::random::seed(3);
  CHECK(kusari::random::bits() == bits);
  CHECK(first == b(order, 0));
  CHECK(first != c(order, 0));
  const Indices second = a(order, 0);
  CHECK(second != first);
  CHECK(second == b(order, 0));
  CHECK(second != c(order, 0));
}

TEST_CASE("SerialIterator refuses what cannot work") {
  CHECK_THROWS_WITH_AS(SerialIterator(counting(3), 0), "SerialIterator: batch_size is 0: it must be positive",
                       kusari::ValueError);
  SerialIterator iterator(counting(0), 1);
  CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("the data set is empty"), kusari::ValueError);
}

TEST_CASE("SerialIterator resumes in the middle of an epoch") {
  const kusari::testing::ScratchDirectory dir;
  for (const bool seeded : {false, true}) {
    CAPTURE(seeded);
    kusari::random::seed(11);
    kusari::iterators::OrderOptions options;
    if (seeded) options.order_sampler = ShuffleOrderSampler(5);
    SerialIterator iterator(counting(10), 4, options);
    for (int i = 0; i < 4; ++i) iterator.next();
    serializers::save_npz(dir / "iterator", iterator);
    const auto state = kusari::random::state();
    std::vector<Indices> expected;
    for (int i = 0; i < 9; ++i) expected.push_back(values(iterator.next()));

    if (seeded) options.order_sampler = ShuffleOrderSampler(5);
    SerialIterator resumed(counting(10), 4, options);
    serializers::load_npz(dir / "iterator", resumed);
    kusari::random::set_state(state);
    CHECK(resumed.epoch() == 1);
    CHECK(resumed.current_position() == 6);
    CHECK(resumed.previous_epoch_detail() == 1.2);
    CHECK_FALSE(resumed.is_new_epoch());
    std::vector<Indices> got;
    for (int i = 0; i < 9; ++i) got.push_back(values(resumed.next()));
    CHECK(got == expected);
  }
}

TEST_CASE("SerialIterator in a file has Chainer's entries") {
  const kusari::testing::ScratchDirectory dir;
  SerialIterator iterator(counting(3), 2);
  serializers::save_npz(dir / "fresh", iterator);
  CHECK(serializers::NpzReader(dir / "fresh").array("previous_epoch_detail").item<double>() == -1);
  iterator.next();
  serializers::save_npz(dir / "iterator", iterator);
  const serializers::NpzReader npz(dir / "iterator");
  CHECK(npz.keys() ==
        std::vector<std::string>{"current_position", "epoch", "is_new_epoch", "order", "previous_epoch_detail"});
  CHECK(npz.array("current_position").dtype() == Dtype::int64);
  CHECK(npz.array("is_new_epoch").dtype() == Dtype::bool_);
  CHECK(npz.array("order").shape() == kusari::Shape{3});
  CHECK(npz.array("previous_epoch_detail").item<double>() == 0);

  SerialIterator ordered(counting(3), 2, {.shuffle = false});
  serializers::load_npz(dir / "iterator", ordered);  // an order is of no use to it
  CHECK(values(ordered.next()) == Indices{2, 0});
  SerialIterator larger(counting(4), 2);
  CHECK_THROWS_WITH_AS(serializers::load_npz(dir / "iterator", larger),
                       "SerialIterator::serialize: the stored order has 3 examples but the data set has 4",
                       kusari::ValueError);
}
