#include "kusari/iterators/shard.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"

namespace kusari::iterators {
namespace {

/// An example is its index and a random number.
class Counting final : public datasets::Dataset {
 public:
  explicit Counting(int64_t n) : n_{n} {}
  int64_t size() const override { return n_; }
  datasets::Example get(int64_t i) const override {
    return {array<int64_t>({i}), array<double>({static_cast<double>(random::bits() % 100000)})};
  }

 private:
  int64_t n_;
};

using Numbers = std::vector<std::pair<int64_t, double>>;

Numbers numbers_of(const Batch& batch) {
  Numbers numbers;
  for (const datasets::Example& example : batch) {
    numbers.emplace_back(example[0].item<int64_t>(), example[1].item<double>());
  }
  return numbers;
}

using Make = std::unique_ptr<Iterator> (*)(int64_t n, int64_t batch, OrderOptions options);
template <class T>
std::unique_ptr<Iterator> make(int64_t n, int64_t batch, OrderOptions options) {
  random::seed(9);
  if constexpr (std::is_same_v<T, SerialIterator>) {
    return std::make_unique<T>(Counting(n), batch, options);
  } else if constexpr (std::is_same_v<T, MultithreadIterator>) {
    return std::make_unique<T>(
        Counting(n), batch,
        MultithreadIteratorOptions{
            .repeat = options.repeat, .shuffle = options.shuffle, .n_threads = 2, .shard = options.shard});
  } else {
    return std::make_unique<T>(
        Counting(n), batch,
        MultiprocessIteratorOptions{
            .repeat = options.repeat, .shuffle = options.shuffle, .n_processes = 2, .shard = options.shard});
  }
}

TEST_CASE("shards: the parts of several make the batches of one, random numbers included") {
  for (const Make make_iterator :
       {Make(make<SerialIterator>), Make(make<MultithreadIterator>), Make(make<MultiprocessIterator>)}) {
    for (const int size : {2, 3}) {
      const auto whole = make_iterator(11, 4, {});
      std::vector<std::unique_ptr<Iterator>> parts;
      for (int rank = 0; rank < size; ++rank) parts.push_back(make_iterator(11, 4, {.shard = {rank, size}}));
      for (int step = 0; step < 9; ++step) {
        const Numbers all = numbers_of(whole->next());
        REQUIRE(all.size() == 4);
        Numbers joined(4);
        for (int rank = 0; rank < size; ++rank) {
          const Numbers own = numbers_of(parts[static_cast<size_t>(rank)]->next());
          for (size_t i = 0; i < own.size(); ++i)
            joined.at(static_cast<size_t>(rank) + i * static_cast<size_t>(size)) = own[i];
          CHECK(parts[static_cast<size_t>(rank)]->epoch() == whole->epoch());
          CHECK(parts[static_cast<size_t>(rank)]->epoch_detail() == whole->epoch_detail());
          CHECK(parts[static_cast<size_t>(rank)]->is_new_epoch() == whole->is_new_epoch());
        }
        CHECK(joined == all);
      }
    }
  }
}

TEST_CASE("shards: a last batch may be too small for all") {
  const auto first = make<SerialIterator>(9, 4, {.repeat = false, .shuffle = false, .shard = {0, 2}});
  const auto second = make<SerialIterator>(9, 4, {.repeat = false, .shuffle = false, .shard = {1, 2}});
  std::vector<size_t> sizes[2];
  for (int sweep = 0; sweep < 2; ++sweep) {
    sizes[0].clear();
    sizes[1].clear();
    for (const Batch& batch : *first) sizes[0].push_back(batch.size());
    for (const Batch& batch : *second) sizes[1].push_back(batch.size());
    CHECK(sizes[0] == std::vector<size_t>{2, 2, 1});
    CHECK(sizes[1] == std::vector<size_t>{2, 2});
    CHECK(first->epoch() == 1);
    CHECK(second->epoch() == 1);
    first->reset();
    second->reset();
  }
}

TEST_CASE("shards: a snapshot of one is that of the whole") {
  const auto whole = make<SerialIterator>(10, 4, {});
  for (int i = 0; i < 3; ++i) whole->next();
  serializers::DictionarySerializer saved;
  whole->serialize(saved);
  const serializers::Dictionary kept = serializers::copied(saved.dictionary());
  const Numbers all = numbers_of(whole->next());
  for (int rank = 0; rank < 2; ++rank) {
    random::seed(1000);
    SerialIterator part(Counting(10), 4, {.shard = {rank, 2}});
    serializers::EntryDeserializer reader("test", serializers::entries_in_memory("memory", kept), {});
    part.serialize(reader);
    const Numbers own = numbers_of(part.next());
    CHECK(own == Numbers{all[static_cast<size_t>(rank)], all[static_cast<size_t>(rank) + 2]});
  }
}

TEST_CASE("shards: arguments") {
  CHECK_THROWS_WITH_AS(SerialIterator(Counting(9), 4, {.shard = {4, 4}}),
                       "SerialIterator: shard is 4 of 4: it must be one of at least 1, and of at most as many as the 4 "
                       "examples of a batch",
                       ValueError);
  CHECK_THROWS_AS(SerialIterator(Counting(9), 4, {.shard = {-1, 4}}), ValueError);
  CHECK_THROWS_AS(SerialIterator(Counting(9), 4, {.shard = {0, 0}}), ValueError);
  CHECK_THROWS_AS(SerialIterator(Counting(9), 4, {.shard = {0, 5}}), ValueError);
  CHECK_NOTHROW(SerialIterator(Counting(9), 4, {.repeat = false, .shard = {0, 5}}));
}

}  // namespace
}  // namespace kusari::iterators
