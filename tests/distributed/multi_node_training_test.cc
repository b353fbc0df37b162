#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/multi_node_evaluator.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/distributed/multi_node_snapshot.h"
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

using distributed::Communicator;
using distributed::run_ranks;

using Values = std::vector<double>;

/// With what differs between ranks: running means, and dropout.
class NormalizedMlp : public Chain {
 public:
  NormalizedMlp() : l1{*this, "l1", kInfer, 12}, bn{*this, "bn", 12}, l2{*this, "l2", 12, 10} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(functions::relu(bn(l1(x))), 0.2)); }

  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2;
};

struct Settings {
  int64_t iterations = 12;
  int64_t batchsize = 8;
  bool static_graph = false;
  bool overlap = false;
  int64_t accumulate = 1;
};

struct Outcome {
  Values values;
  std::map<std::string, double> validation;
};

/// What training with so many ranks comes to, on each of them.
template <class Model>
std::vector<Outcome> train(int ranks, const std::string& out, const Settings& settings = {}) {
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  random::seed(21);
  run_ranks(ranks, [&](Communicator& comm) {
    const TestBatch data = test_batch(45, {6}, 1);
    auto model = links::classifier(Model());
    auto optimizer = distributed::create_multi_node_optimizer(optimizers::Adam(), comm, {.overlap = settings.overlap});
    optimizer.setup(model);
    const datasets::TupleDataset examples(data.x, data.t);
    iterators::SerialIterator iterator(examples, settings.batchsize, {.shard = comm.shard()});
    iterators::SerialIterator test(examples, 7, {.repeat = false, .shuffle = false, .shard = comm.shard()});
    updaters::StandardUpdater updater(iterator, optimizer,
                                      {.accumulate = settings.accumulate, .static_graph = settings.static_graph});
    training::Trainer trainer(updater, {settings.iterations, "iteration"}, out);
    auto evaluator = distributed::create_multi_node_evaluator(extensions::Evaluator(test, model), comm);
    trainer.extend(evaluator, {.trigger = {6, "iteration"}});
    trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.autoload = true})),
                   {.trigger = {6, "iteration"}});
    trainer.run();
    Outcome& own = outcomes[static_cast<size_t>(comm.rank())];
    own.values = values_of(model);
    for (const auto& [key, value] : evaluator()) own.validation[key] = value;
  });
  return outcomes;
}

void check_alike(const std::vector<Outcome>& ranks) {
  for (const Outcome& outcome : ranks) {
    CHECK(outcome.values == ranks[0].values);
    CHECK(outcome.validation == ranks[0].validation);
  }
}

TEST_CASE("multi-node training: trainer, evaluator and iterators give what one process does") {
  const ScratchDirectory scratch;
  const Outcome one = train<TestMlp>(1, scratch / "one")[0];
  CHECK(one.validation.size() == 2);
  for (const int ranks : {2, 3}) {
    const std::vector<Outcome> all = train<TestMlp>(ranks, scratch / std::to_string(ranks));
    check_alike(all);
    CHECK(difference(one.values, all[0].values) < 1e-5);
    for (const auto& [key, value] : one.validation) {
      CHECK(all[0].validation.at(key) == doctest::Approx(value).epsilon(1e-5));
    }
  }
}

TEST_CASE("multi-node training: ways of taking a step") {
  const ScratchDirectory scratch;
  const std::vector<Outcome> plain = train<TestMlp>(2, scratch / "plain");
  SUBCASE("overlap: the same bits") {
    const std::vector<Outcome> all = train<TestMlp>(2, scratch / "overlap", {.overlap = true});
    check_alike(all);
    CHECK(all[0].values == plain[0].values);
  }
  SUBCASE("static graphs") {
    for (const bool overlap : {false, true}) {
      const std::vector<Outcome> all =
          train<TestMlp>(2, scratch / (overlap ? "both" : "static"), {.static_graph = true, .overlap = overlap});
      check_alike(all);
      CHECK(all[0].values == plain[0].values);
    }
  }
  SUBCASE("accumulated gradients") {
    const Outcome one = train<TestMlp>(1, scratch / "one", {.iterations = 6, .batchsize = 6, .accumulate = 2})[0];
    const std::vector<Outcome> all =
        train<TestMlp>(3, scratch / "three", {.iterations = 6, .batchsize = 6, .accumulate = 2});
    check_alike(all);
    CHECK(difference(one.values, all[0].values) < 1e-5);
  }
}

TEST_CASE("multi-node training: a resumed run is the one that was not interrupted") {
  const ScratchDirectory scratch;
  const std::vector<Outcome> whole = train<NormalizedMlp>(3, scratch / "whole", {.iterations = 18});
  const std::string parts = scratch / "parts";
  train<NormalizedMlp>(3, parts, {.iterations = 12});
  const std::vector<Outcome> resumed = train<NormalizedMlp>(3, parts, {.iterations = 18});
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(resumed[rank].values == whole[rank].values);
    CHECK(resumed[rank].validation == whole[rank].validation);
  }
  // Another number of ranks goes on with the same batches.
  const std::string others = scratch / "others";
  train<TestMlp>(3, others, {.iterations = 12});
  const Outcome one = train<TestMlp>(1, scratch / "one", {.iterations = 18})[0];
  const std::vector<Outcome> all = train<TestMlp>(2, others, {.iterations = 18});
  check_alike(all);
  CHECK(difference(one.values, all[0].values) < 1e-5);
}

TEST_CASE("multi-node evaluator: values that some ranks lack, and batches that are no shards") {
  run_ranks(2, [](Communicator& comm) {
    const TestBatch data = test_batch(5, {6}, 1);
    // Rank 0 has three batches and rank 1 two: all count alike.
    const datasets::TupleDataset examples(comm.rank() == 0 ? data.x : data.x.slice(0, 0, 4),
                                          comm.rank() == 0 ? data.t : data.t.slice(0, 0, 4));
    iterators::SerialIterator test(examples, 2, {.repeat = false, .shuffle = false});
    TestMlp model;
    auto evaluator = distributed::create_multi_node_evaluator(
        extensions::Evaluator(test, model,
                              {.eval_func =
                                   [&](const Variable& x, const Variable&) {
                                     report({{"size", static_cast<double>(x.shape(0))}}, model);
                                     if (comm.rank() == 1) report({{"only here", 3.0}}, model);
                                     return x;
                                   }}),
        comm);
    const DictSummary::Values means = evaluator();
    REQUIRE(means.size() == 2);
    CHECK(means[0] == std::pair<std::string, double>("main/size", 9.0 / 5));
    CHECK(means[1] == std::pair<std::string, double>("main/only here", 3.0));
  });
}

}  // namespace
}  // namespace kusari::testing
