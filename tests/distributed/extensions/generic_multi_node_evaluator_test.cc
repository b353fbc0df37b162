#include "kusari/framework/distributed/extensions/generic_multi_node_evaluator.h"

#include <doctest/doctest.h>

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/datasets/scatter_dataset.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::GenericMultiNodeEvaluator;
using distributed::GenericMultiNodeEvaluatorOptions;
using testing::on_ranks;

/// The largest output over all data, and how many examples there were.
class Largest final : public GenericMultiNodeEvaluator {
 public:
  using GenericMultiNodeEvaluator::GenericMultiNodeEvaluator;
  std::vector<int64_t> sizes;
  double largest = -1e9;
  int calls = 0;

 protected:
  Result calc_local(std::span<const Variable> inputs) override {
    CHECK(!config().train);
    Result result = GenericMultiNodeEvaluator::calc_local(inputs);
    result.push_back(array<int64_t>({inputs[0].shape(0)}));
    return result;
  }
  void aggregate(const std::vector<Result>& results) override {
    ++calls;
    for (const Result& result : results) {
      sizes.push_back(result[1].item<int64_t>());
      for (const double value : result[0].to_vector<double>()) largest = std::max(largest, value);
    }
  }
};

TEST_CASE("GenericMultiNodeEvaluator: results of all batches, of ranks with different numbers of them") {
  const datasets::TupleDataset data(testing::uniform({11, 3}, -1, 1));
  links::Linear model(3, 1);
  model.to(Dtype::float64);
  double expected = -1e9;
  for (const double value : model(Variable(testing::uniform({11, 3}, -1, 1), false)).to_vector<double>()) {
    expected = std::max(expected, value);
  }
  for (const int root : {0, 2}) {
    on_ranks<int>(3, [&](Communicator& comm) {
      const auto policy = using_config(&Config::dtype, DtypePolicy(Dtype::float64));
      links::Linear own(model);
      // 4, 4 and 3 examples: 4, 4 and 3 batches of one, or 2 of 3.
      const auto part = distributed::scatter_dataset(data, comm, {.force_equal_length = false});
      iterators::SerialIterator iterator(part, comm.rank() == 1 ? 1 : 3, {.repeat = false, .shuffle = false});
      std::vector<int64_t> progress;
      Largest evaluator(comm, iterator, own,
                        {.root = root, .progress_hook = [&](int64_t count) { progress.push_back(count); }});
      for (int times = 1; times <= 2; ++times) {
        evaluator.sizes.clear();
        evaluator();
        const bool is_root = comm.rank() == root;
        CHECK(evaluator.calls == (is_root ? times : 0));
        if (!is_root) continue;
        CHECK(evaluator.sizes == std::vector<int64_t>{3, 1, 3, 1, 1, 1, 1});
        CHECK(evaluator.largest == doctest::Approx(expected));
      }
      if (comm.rank() == root) CHECK(progress == std::vector<int64_t>{3, 5, 6, 7, 3, 5, 6, 7});
      if (comm.rank() != root) CHECK(progress.empty());
      CHECK_THROWS_WITH_AS(Largest(comm, iterator, own, {.root = 3}),
                           "GenericMultiNodeEvaluator: root is 3: it must be in [0, 3), the ranks of the communicator",
                           ValueError);
      CHECK_THROWS_AS(Largest(comm, iterators::SerialIterator(part, 1), own), ValueError);
      return 0;
    });
  }
}

}  // namespace
}  // namespace kusari
