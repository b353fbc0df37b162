#include "kusari/framework/distributed/datasets/scatter_dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/sub_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/datasets/empty_dataset.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/golden_data.h"

namespace kusari {
namespace {

using datasets::DictDataset;
using datasets::TupleDataset;
using distributed::Communicator;
using distributed::scatter_dataset;
using distributed::scatter_index;
using testing::on_ranks;

using Part = std::pair<int64_t, int64_t>;

Array counting(int64_t n) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return array(numbers);
}

std::vector<int64_t> numbers_in(const datasets::Dataset& dataset) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < dataset.size(); ++i) numbers.push_back(dataset[i][0].item<int64_t>());
  return numbers;
}

TEST_CASE("scatter_index: ChainerMN's parts") {
  for (const int n : {2, 3}) {
    const serializers::NpzReader golden(testing::golden_path("chainermn/naive_" + std::to_string(n) + ".npz"));
    for (const int64_t total : {0, 1, 2, 5, 7, 10, 11, 23}) {
      for (const bool equal : {false, true}) {
        CAPTURE(total);
        CAPTURE(equal);
        const auto parts = on_ranks<Part>(n, [&](Communicator& comm) {
          const int root = static_cast<int>(total) % comm.size();
          // What another rank than the root says does not count.
          return scatter_index(comm.rank() == root ? total : 99, comm, root, equal);
        });
        std::vector<int64_t> found;
        for (const Part& part : parts) found.insert(found.end(), {part.first, part.second});
        CHECK(found == golden.array("scatter/" + std::to_string(total) + (equal ? "/1" : "/0")).to_vector<int64_t>());
      }
    }
  }
}

TEST_CASE("scatter_index: as many examples as can be counted") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const bool equal : {false, true}) {
    const auto parts = on_ranks<Part>(2, [&](Communicator& comm) { return scatter_index(most, comm, 0, equal); });
    CHECK(parts[0] == Part(0, most / 2 + 1));
    CHECK(parts[1].second == most);
  }
}

TEST_CASE("scatter_index: without equal lengths each example is one rank's") {
  for (const int64_t total : {0, 3, 4, 9, 14}) {
    const auto parts = on_ranks<Part>(4, [&](Communicator& comm) { return scatter_index(total, comm, 0, false); });
    int64_t end = 0;
    for (const Part& part : parts) {
      CHECK(part.first == end);
      end = part.second;
      CHECK(part.second - part.first - total / 4 <= 1);
    }
    CHECK(end == total);
  }
}

TEST_CASE("scatter_dataset: each rank gets its part, of any components, in order or shuffled") {
  const TupleDataset whole(counting(11), ones({11, 2}, Dtype::float16));
  for (const int n : {1, 2, 3, 4}) {
    for (const int root : {0, n - 1}) {
      CAPTURE(n);
      const auto parts = on_ranks<std::vector<int64_t>>(n, [&](Communicator& comm) {
        const bool is_root = comm.rank() == root;
        const auto mine = is_root ? scatter_dataset(whole, comm, {.root = root})
                                  : scatter_dataset(std::nullopt, comm, {.root = root});
        const auto [begin, end] = scatter_index(11, comm);
        CHECK(mine.size() == end - begin);
        CHECK(mine[0].size() == 2);
        CHECK(mine[-1][1].dtype() == Dtype::float16);
        CHECK(mine[-1][1].shape() == Shape{2});
        CHECK(numbers_in(mine)[0] == begin);
        CHECK_THROWS_AS(mine.get(mine.size()), IndexError);
        return numbers_in(mine);
      });
      for (const auto& part : parts) CHECK(part.size() == static_cast<size_t>((11 + n - 1) / n));

      const auto shuffled = on_ranks<std::vector<int64_t>>(n, [&](Communicator& comm) {
        return numbers_in(
            scatter_dataset(whole, comm, {.root = root, .shuffle = true, .seed = 5, .force_equal_length = false}));
      });
      std::vector<int64_t> all;
      for (const auto& part : shuffled) all.insert(all.end(), part.begin(), part.end());
      CHECK(all.size() == 11);
      CHECK(!std::is_sorted(all.begin(), all.end()));
      const auto alone = on_ranks<std::vector<int64_t>>(1, [&](Communicator& comm) {
        return numbers_in(scatter_dataset(whole, comm, {.shuffle = true, .seed = 5}));
      });
      CHECK(all == alone[0]);  // the seed alone decides about the order
      std::sort(all.begin(), all.end());
      CHECK(all == counting(11).to_vector<int64_t>());
    }
  }
}

TEST_CASE("scatter_dataset: keys come along, iterators take it, and errors") {
  on_ranks<int>(2, [](Communicator& comm) {
    const DictDataset named({{"number", counting(6)}});
    const auto mine = scatter_dataset(named, comm);
    CHECK(mine.keys() == datasets::Keys{"number"});
    iterators::SerialIterator iterator(mine, 3, {.shuffle = false});
    CHECK(iterator.next()[2][0].item<int64_t>() == 3 * comm.rank() + 2);
    CHECK(scatter_dataset(TupleDataset(counting(0)), comm).size() == 0);
    CHECK_THROWS_WITH_AS(scatter_dataset(named, comm, {.root = 2}),
                         "scatter_dataset: root is 2: it must be in [0, 2), the ranks of the communicator", ValueError);
    CHECK(distributed::get_n_iterations_for_one_epoch(mine, 2, comm) == 2);
    CHECK(distributed::get_epoch_trigger(4, mine, 2, comm).get_training_length()->period == 8);
    return 0;
  });
  CHECK_THROWS_WITH_AS(scatter_dataset(std::nullopt, Communicator()),
                       "scatter_dataset: dataset is not given: it is required on the root", TypeError);
  CHECK_THROWS_WITH_AS(scatter_index(-1, Communicator()),
                       "scatter_index: n_total_samples is -1: it must not be negative", ValueError);
}

TEST_CASE("create_empty_dataset: as many examples, of nothing") {
  const auto empty = distributed::create_empty_dataset(TupleDataset(counting(5)));
  CHECK(empty.size() == 5);
  CHECK(empty[-1].empty());
  CHECK_THROWS_AS(empty.get(5), IndexError);
  CHECK_THROWS_WITH_AS(distributed::EmptyDataset(-1), "EmptyDataset: size is -1: it must not be negative", ValueError);
  iterators::SerialIterator iterator(empty, 2, {.repeat = false});
  CHECK(iterator.next().size() == 2);
  iterator.next();
  CHECK(iterator.next().size() == 1);
}

}  // namespace
}  // namespace kusari
