#include "kusari/iterators/serial_iterator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/scratch_directory.h"

using kusari::Dtype;
using kusari::datasets::Dataset;
using kusari::datasets::Example;
using kusari::datasets::TupleDataset;
using kusari::iterators::SerialIterator;
using kusari::testing::counting;
using kusari::testing::Indices;
using kusari::testing::values;
namespace serializers = kusari::serializers;

TEST_CASE("SerialIterator refers to an lvalue and owns an rvalue") {
  const TupleDataset dataset = counting(3);
  SerialIterator referring(dataset, 1);
  CHECK(&referring.dataset() == &dataset);
  SerialIterator owning(counting(3), 1);
  CHECK(owning.dataset().size() == 3);
}

TEST_CASE("SerialIterator lets exceptions through and tries the batch again") {
  struct Failing final : Dataset {
    int64_t size() const override { return 4; }
    Example get(int64_t i) const override {
      calls.push_back(i);
      if (calls.size() == 4) throw std::out_of_range("not today");
      return counting(4).get(i);
    }
    mutable Indices calls;
  };
  const Failing dataset;
  SerialIterator iterator(dataset, 2, {.shuffle = false});
  CHECK(values(iterator.next()) == Indices{0, 1});
  CHECK_THROWS_WITH_AS(iterator.next(), "not today", std::out_of_range);
  CHECK(iterator.epoch_detail() == 0.5);
  CHECK(values(iterator.next()) == Indices{2, 3});
  CHECK(iterator.epoch() == 1);
  CHECK(dataset.calls == Indices{0, 1, 2, 3, 3});
}

TEST_CASE("SerialIterator in a file has Chainer's entries, a seed and a count of sweeps") {
  const kusari::testing::ScratchDirectory dir;
  SerialIterator iterator(counting(3), 2);
  serializers::save_npz(dir / "fresh", iterator);
  CHECK(serializers::NpzReader(dir / "fresh").array("previous_epoch_detail").item<double>() == -1);
  iterator.next();
  serializers::save_npz(dir / "iterator", iterator);
  const serializers::NpzReader npz(dir / "iterator");
  std::vector<std::string> keys = npz.keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"current_position", "epoch", "is_new_epoch", "order", "previous_epoch_detail",
                                         "seed", "sweep"});
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
  CHECK(larger.current_position() == 0);
}
