#include "kusari/iterators/parallel_sequential_iterator.h"

#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::parallel_sequential_test {
namespace {

using iterators::Batch;
using iterators::ParallelSequentialIterator;
using Words = std::vector<int32_t>;

Array text(int64_t n) {
  Words words(static_cast<size_t>(n));
  std::iota(words.begin(), words.end(), 0);
  return array(words);
}
// Words of a batch, and those that come next.
std::pair<Words, Words> read(const Batch& batch) {
  std::pair<Words, Words> result;
  for (const auto& example : batch) {
    for (const int32_t word : example[0].to_vector<int32_t>()) result.first.push_back(word);
    for (const int32_t word : example[1].to_vector<int32_t>()) result.second.push_back(word);
  }
  return result;
}

}  // namespace

TEST_CASE("ParallelSequentialIterator: places lie evenly, and each goes on where it was") {
  ParallelSequentialIterator iterator(text(10), 3);
  CHECK(!iterator.previous_epoch_detail());
  CHECK(read(iterator.next()) == std::pair{Words{0, 3, 6}, Words{1, 4, 7}});
  CHECK(iterator.previous_epoch_detail() == 0.0);
  CHECK(iterator.epoch_detail() == doctest::Approx(0.3));
  CHECK(read(iterator.next()) == std::pair{Words{1, 4, 7}, Words{2, 5, 8}});
  CHECK(read(iterator.next()) == std::pair{Words{2, 5, 8}, Words{3, 6, 9}});
  CHECK(!iterator.is_new_epoch());
  CHECK(read(iterator.next()) == std::pair{Words{3, 6, 9}, Words{4, 7, 0}});
  CHECK(iterator.is_new_epoch());
  CHECK(iterator.epoch() == 1);
  CHECK(read(iterator.next()) == std::pair{Words{4, 7, 0}, Words{5, 8, 1}});
  iterator.reset();
  CHECK(read(iterator.next()).first == Words{0, 3, 6});
  CHECK(iterator.epoch() == 0);
}

TEST_CASE("ParallelSequentialIterator ends after a sweep unless it repeats") {
  for (const int64_t window : {0, 1, 2, 3, 9}) {
    ParallelSequentialIterator iterator(text(11), 3, {.repeat = false, .window = window});
    Words all;
    while (const Batch* batch = iterator.try_next()) {
      for (const int32_t word : read(*batch).first) all.push_back(word);
    }
    CHECK(all == Words{0, 3, 7, 1, 4, 8, 2, 5, 9, 3, 6, 10});
    CHECK(iterator.try_next() == nullptr);
    CHECK_THROWS_AS(iterator.next(), StateError);
  }
}

TEST_CASE("ParallelSequentialIterator with a window gives several times at once") {
  ParallelSequentialIterator iterator(text(20), 2, {.window = 3});
  const Batch& batch = iterator.next();
  REQUIRE(batch.size() == 3);
  CHECK(batch[0][0].shape() == Shape{2});
  CHECK(read(batch) == std::pair{Words{0, 10, 1, 11, 2, 12}, Words{1, 11, 2, 12, 3, 13}});
  CHECK(read(iterator.next()).first == Words{3, 13, 4, 14, 5, 15});
}

TEST_CASE("snapshots of ParallelSequentialIterator") {
  for (const int64_t window : {0, 4}) {
    ParallelSequentialIterator iterator(text(50), 3, {.window = window});
    for (int i = 0; i < 7; ++i) iterator.next();
    const testing::ScratchDirectory folder;
    serializers::save_npz(folder / "iterator.npz", iterator);
    ParallelSequentialIterator again(text(50), 3, {.window = window});
    serializers::load_npz(folder / "iterator.npz", again);
    CHECK(again.epoch() == iterator.epoch());
    CHECK(again.epoch_detail() == iterator.epoch_detail());
    CHECK(*again.previous_epoch_detail() == doctest::Approx(*iterator.previous_epoch_detail()));
    CHECK(again.is_new_epoch() == iterator.is_new_epoch());
    for (int i = 0; i < 20; ++i) CHECK(read(again.next()) == read(iterator.next()));
  }
}

TEST_CASE("ParallelSequentialIterator takes no place that makes no sense") {
  ParallelSequentialIterator iterator(text(50), 3);
  iterator.next();
  serializers::DictionarySerializer all;
  iterator.serialize(all);
  serializers::Dictionary entries = serializers::copied(all.dictionary());
  const testing::ScratchDirectory folder;
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 0.5}) {
    CAPTURE(odd);
    for (auto& [name, entry] : entries) {
      if (name == "previous_epoch_detail") entry = serializers::Entry{full({}, odd, Dtype::float64)};
    }
    serializers::save_npz_dictionary(folder / "iterator.npz", entries);
    CHECK_THROWS_WITH_AS(serializers::load_npz(folder / "iterator.npz", iterator), doctest::Contains("must be before"),
                         ValueError);
  }
}

TEST_CASE("texts and sizes that ParallelSequentialIterator refuses") {
  CHECK_THROWS_WITH_AS(ParallelSequentialIterator(text(3), 0),
                       "ParallelSequentialIterator: batch_size is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(ParallelSequentialIterator(text(0), 1), doctest::Contains("words is empty"), ValueError);
  CHECK_THROWS_WITH_AS(ParallelSequentialIterator(text(4).reshape({2, 2}), 1),
                       doctest::Contains("words has shape (2, 2)"), TypeError);
  CHECK_THROWS_WITH_AS(ParallelSequentialIterator(text(3), 1, {.window = -1}), doctest::Contains("window is -1"),
                       ValueError);
  ParallelSequentialIterator iterator(text(3), std::numeric_limits<int64_t>::max());
  CHECK_THROWS_AS(iterator.next(), Error);  // no array has so many words
}

TEST_CASE("ParallelSequentialIterator: shards are the places of the whole, with its counters") {
  for (const int64_t window : {0, 3}) {
    CAPTURE(window);
    ParallelSequentialIterator whole(text(23), 5, {.window = window});
    ParallelSequentialIterator even(text(23), 5, {.window = window, .shard = {0, 2}});
    ParallelSequentialIterator odd(text(23), 5, {.window = window, .shard = {1, 2}});
    for (int i = 0; i < 9; ++i) {
      const auto [words, next] = read(whole.next());
      for (const int rank : {0, 1}) {
        ParallelSequentialIterator& shard = rank == 0 ? even : odd;
        const auto [own, own_next] = read(shard.next());
        Words expected, expected_next;
        for (size_t k = 0; k < words.size(); ++k) {
          if (static_cast<int>(k % 5) % 2 != rank) continue;
          expected.push_back(words[k]);
          expected_next.push_back(next[k]);
        }
        CHECK(own == expected);
        CHECK(own_next == expected_next);
        CHECK(shard.epoch_detail() == whole.epoch_detail());
        CHECK(shard.is_new_epoch() == whole.is_new_epoch());
      }
    }
  }
  CHECK_THROWS_WITH_AS(
      ParallelSequentialIterator(text(9), 2, {.shard = {0, 3}}),
      "ParallelSequentialIterator: shard is 0 of 3 with batch_size 2: rank must be below size, and each "
      "must have a place",
      ValueError);
}

}  // namespace kusari::parallel_sequential_test
