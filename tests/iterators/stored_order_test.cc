#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/scratch_directory.h"

// What an iterator writes under Chainer's names, and what it takes back.
using namespace kusari;
using iterators::SerialIterator;
using serializers::Dictionary;
using serializers::Entry;
using testing::ScratchDirectory;

namespace {

datasets::TupleDataset ten() { return datasets::TupleDataset(arange(10)); }

Dictionary stored_by(iterators::Iterator& iterator) {
  serializers::DictionarySerializer all;
  iterator.serialize(all);
  return serializers::copied(all.dictionary());
}

std::vector<double> next_batches(iterators::Iterator& iterator, int count) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) {
    for (const datasets::Example& example : iterator.next()) result.push_back(example[0].item<double>());
  }
  return result;
}

}  // namespace

TEST_CASE("a shuffled SerialIterator writes what Chainer's does") {
  SerialIterator iterator(ten(), 3);
  const auto first = next_batches(iterator, 2);
  std::map<std::string, Array> entries;
  for (const auto& [key, entry] : stored_by(iterator)) entries[key] = entry.array;
  for (const char* const key : {"current_position", "epoch", "is_new_epoch", "order", "previous_epoch_detail"}) {
    CAPTURE(key);
    CHECK(entries.count(key) == 1);
  }
  CHECK(entries["current_position"].item<int64_t>() == 6);
  CHECK(entries["previous_epoch_detail"].item<double>() == 0.3);
  REQUIRE(entries["order"].dtype() == Dtype::int64);
  const std::vector<int64_t> order = entries["order"].to_vector<int64_t>();
  REQUIRE(order.size() == 10);
  CHECK(std::vector<double>(order.begin(), order.begin() + 6) == first);
}

TEST_CASE("an iterator goes on in the order that it reads, with Chainer's entries alone, too") {
  const ScratchDirectory dir;
  SerialIterator iterator(ten(), 3);
  next_batches(iterator, 2);
  Dictionary entries = stored_by(iterator);
  const std::vector<double> rest = next_batches(iterator, 5);
  serializers::save_npz_dictionary(dir / "a", entries);
  SerialIterator resumed(ten(), 3);
  serializers::load_npz(dir / "a", resumed);
  CHECK(next_batches(resumed, 5) == rest);

  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const auto& e) { return e.first == "seed" || e.first == "sweep"; }),
                entries.end());
  serializers::save_npz_dictionary(dir / "b", entries);
  SerialIterator of_chainer(ten(), 3);
  serializers::load_npz(dir / "b", of_chainer);
  const std::vector<double> sweep = next_batches(of_chainer, 1);
  CHECK(sweep == std::vector<double>(rest.begin(), rest.begin() + 3));
}

TEST_CASE("an iterator takes nothing that makes no sense, and then is what it was") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  const auto integer = [](int64_t value) { return Entry{full({}, value, Dtype::int64)}; };
  const auto real = [](double value) { return Entry{full({}, value, Dtype::float64)}; };
  const auto list = [](const std::vector<int64_t>& values) { return Entry{array<int64_t>(values)}; };
  const std::pair<const char*, Entry> odd[] = {
      {"current_position", integer(-1)},
      {"current_position", integer(11)},
      {"current_position", integer(std::numeric_limits<int64_t>::max())},
      {"epoch", integer(-1)},
      {"epoch", integer(std::numeric_limits<int64_t>::max())},
      {"sweep", integer(-3)},
      {"previous_epoch_detail", real(kNan)},
      {"previous_epoch_detail", real(kInf)},
      {"previous_epoch_detail", real(0.7)},
      {"order", list({0, 1, 2, 3, 4, 5, 6, 7, 8})},
      {"order", list({0, 1, 2, 3, 4, 5, 6, 7, 8, 10})},
      {"order", list({0, 1, 2, 3, 4, 5, 6, 7, 8, -1})},
      {"order", list({0, 1, 2, 3, 4, 5, 6, 7, 8, 8})},
      {"order", list({})},
      {"order", Entry{arange(10).astype(Dtype::float32)}},
      {"order", Entry{arange(10).astype(Dtype::int64).reshape({2, 5})}},
      {"order", Entry{}},
      {"order", Entry{Array(), "[1]", true}},
  };
  const ScratchDirectory dir;
  for (const auto& [key, entry] : odd) {
    CAPTURE(key);
    SerialIterator iterator(ten(), 3), other(ten(), 3);
    next_batches(iterator, 2);
    Dictionary entries = stored_by(iterator);
    for (auto& [name, old] : entries) {
      if (name == key) old = entry;
    }
    serializers::save_npz_dictionary(dir / "a", entries);
    serializers::save_npz_dictionary(dir / "before", stored_by(other));
    CHECK_THROWS_AS(serializers::load_npz(dir / "a", other), Error);
    serializers::save_npz_dictionary(dir / "after", stored_by(other));
    CHECK(testing::read_file(dir / "before") == testing::read_file(dir / "after"));
  }
}
