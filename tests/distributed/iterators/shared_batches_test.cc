#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/iterators/multi_node_iterator.h"
#include "kusari/framework/distributed/iterators/synchronized_iterator.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

using datasets::TupleDataset;
using distributed::Communicator;
using distributed::create_multi_node_iterator;
using distributed::create_synchronized_iterator;
using testing::on_ranks;
using Numbers = std::vector<double>;

TupleDataset numbered(int64_t n) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back((int64_t{1} << 40) + i);  // no float32 holds them
  return TupleDataset(array(numbers), ones({n, 2}, Dtype::uint8));
}

Numbers described(const iterators::Iterator& iterator, const iterators::Batch* batch) {
  Numbers found{static_cast<double>(iterator.epoch()), iterator.epoch_detail(),
                iterator.previous_epoch_detail().value_or(-1), iterator.is_new_epoch() ? 1.0 : 0.0};
  if (batch == nullptr) return found;
  for (const datasets::Example& example : *batch) found.push_back(static_cast<double>(example[0].item<int64_t>()));
  return found;
}

TEST_CASE("create_multi_node_iterator: all ranks have the master's batches and counters") {
  for (const bool repeat : {true, false}) {
    for (const int master : {0, 2}) {
      CAPTURE(repeat);
      CAPTURE(master);
      const auto histories = on_ranks<std::vector<Numbers>>(3, [&](Communicator& comm) {
        const TupleDataset data = numbered(7);
        std::optional<iterators::IteratorRef> own;
        if (comm.rank() == master) own = iterators::SerialIterator(data, 3, {.repeat = repeat});
        auto iterator = create_multi_node_iterator(own, comm, master);
        CHECK(iterator.repeat() == repeat);
        std::vector<Numbers> history{described(iterator, nullptr)};
        for (int i = 0; i < 6; ++i) {
          const iterators::Batch* batch = iterator.try_next();
          if (batch != nullptr) {
            CHECK((*batch)[0][1].dtype() == Dtype::uint8);
            CHECK((*batch)[0][1].shape() == Shape{2});
          }
          CHECK((batch == nullptr) == (!repeat && i >= 3));
          history.push_back(described(iterator, batch));
        }
        iterator.reset();
        history.push_back(described(iterator, iterator.try_next()));
        iterator.finalize();
        return history;
      });
      CHECK(histories[1] == histories[0]);
      CHECK(histories[2] == histories[0]);
      CHECK(histories[0][1].size() == 4 + 3);
    }
  }
}

TEST_CASE("create_multi_node_iterator: what the master has saved, all go on from") {
  const testing::ScratchDirectory directory;
  const std::string path = directory / "iterator.npz";
  on_ranks<int>(2, [&](Communicator& comm) {
    const datasets::DictDataset data({{"x", numbered(9)[0][0].reshape({1})}});
    CHECK(create_multi_node_iterator(
              comm.is_root() ? std::optional<iterators::IteratorRef>(iterators::SerialIterator(data, 1)) : std::nullopt,
              comm)
              .keys() == datasets::Keys{"x"});
    const TupleDataset numbers = numbered(9);
    const auto make = [&] {
      std::optional<iterators::IteratorRef> own;
      if (comm.is_root()) own = iterators::SerialIterator(numbers, 4);
      return create_multi_node_iterator(own, comm);
    };
    auto first = make();
    for (int i = 0; i < 3; ++i) first.next();
    if (comm.is_root()) serializers::save_npz(path, first);
    comm.barrier();
    const Numbers expected = described(first, first.try_next());
    auto second = make();
    serializers::load_npz(path, second);
    CHECK(second.epoch() == 1);
    CHECK(described(second, second.try_next()) == expected);
    return 0;
  });
  const Communicator alone;
  CHECK_THROWS_WITH_AS(create_multi_node_iterator(std::nullopt, alone),
                       "MultiNodeIterator: iterator is not given: it is required on the master", TypeError);
  CHECK_THROWS_WITH_AS(create_multi_node_iterator(std::nullopt, alone, 3),
                       "MultiNodeIterator: rank_master is 3: it must be in [0, 1), the ranks of the communicator",
                       ValueError);
}

TEST_CASE("create_synchronized_iterator: all ranks draw the same orders from then on, also with workers") {
  for (const bool threads : {false, true}) {
    CAPTURE(threads);
    const auto histories = on_ranks<std::vector<Numbers>>(3, [&](Communicator& comm) {
      const random::LocalStream other(static_cast<uint64_t>(comm.rank()) + 77);  // else they would begin alike
      const TupleDataset data = numbered(8);
      std::vector<Numbers> history;
      const auto run = [&](iterators::Iterator& iterator) {
        if (comm.rank() == 1) iterator.next();  // it is somewhere else
        create_synchronized_iterator(iterator, comm);
        for (int i = 0; i < 9; ++i) history.push_back(described(iterator, iterator.try_next()));
      };
      if (threads) {
        iterators::MultithreadIterator iterator(data, 3, {.n_threads = 2});
        run(iterator);
      } else {
        iterators::SerialIterator iterator(data, 3);
        run(iterator);
      }
      return history;
    });
    CHECK(histories[1] == histories[0]);
    CHECK(histories[2] == histories[0]);
    CHECK(histories[0][0] != histories[0][3]);
  }
  on_ranks<int>(2, [](Communicator& comm) {
    auto owned = create_synchronized_iterator(iterators::SerialIterator(numbered(4), 2), comm);
    CHECK(owned.next().size() == 2);
    return 0;
  });
  CHECK_THROWS_AS(distributed::run_ranks(2,
                                         [](Communicator& comm) {
                                           iterators::SerialIterator iterator(numbered(4 + comm.rank()), 2);
                                           create_synchronized_iterator(iterator, comm);
                                         }),
                  ValueError);
}

}  // namespace
}  // namespace kusari
