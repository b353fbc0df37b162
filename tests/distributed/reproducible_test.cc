#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/batch_part.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::reproducible_test {
namespace {

using namespace testing;

using distributed::Communicator;
using distributed::create_multi_node_optimizer;

using Values = std::vector<double>;

class DroppingMlp : public Chain {
 public:
  DroppingMlp() : l1{*this, "l1", kInfer, 40}, l2{*this, "l2", kInfer, 10} {}
  Variable operator()(const Variable& x) { return l2(functions::dropout(functions::relu(l1(x)), 0.4)); }

  Child<links::Linear> l1, l2;
};

class NormalizedCnn : public Chain {
 public:
  NormalizedCnn() : conv{*this, "conv", kInfer, 8, 3, {.stride = 2}}, bn{*this, "bn", 8}, fc{*this, "fc", kInfer, 10} {}
  Variable operator()(const Variable& x) { return fc(functions::relu(bn(conv(x)))); }

  Child<links::Convolution2D> conv;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> fc;
};

struct Settings {
  int64_t batchsize = 16;
  int64_t parts = 4;
  bool shards = false;
  bool by_hand = false;
  bool static_graph = false;
};

/// Parameters of each rank after 20 steps.
template <class Model>
std::vector<Values> train(int ranks, Shape shape, const Settings& settings) {
  random::seed(13);
  return on_ranks<Values>(ranks, [&](Communicator& comm) {
    auto model = links::classifier(Model());
    auto optimizer = create_multi_node_optimizer(optimizers::Adam(0.01), comm,
                                                 {.shard_optimizer = settings.shards, .reproducible = settings.parts});
    optimizer.setup(model);
    const TestBatch data = test_batch(3 * settings.batchsize, shape, 1);
    const datasets::TupleDataset examples(data.x, data.t);
    iterators::SerialIterator iterator(examples, settings.batchsize, {.shard = comm.shard()});
    updaters::StandardUpdater updater(iterator, optimizer, {.static_graph = settings.static_graph});
    for (int step = 0; step < 20; ++step) {
      if (!settings.by_hand) {
        updater.update();
        continue;
      }
      const TestBatch batch = test_batch(settings.batchsize, shape, step).part(comm.rank(), comm.size());
      optimizer.update(model, Variable(batch.x, false), Variable(batch.t, false));
    }
    CHECK(optimizer.t() == 20);
    return values_of(model);
  });
}

template <class Model>
void check_equal(Shape shape, const Settings& settings) {
  const Values one = train<Model>(1, shape, settings)[0];
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    for (const Values& values : train<Model>(ranks, shape, settings)) CHECK(values == one);
  }
}

TEST_CASE("reproducible: 1, 2 and 4 ranks have the same bits") {
  SUBCASE("MLP with dropout") { check_equal<DroppingMlp>({30}, {}); }
  SUBCASE("a loop by hand") { check_equal<DroppingMlp>({30}, {.by_hand = true}); }
  SUBCASE("CNN with batch normalization") { check_equal<NormalizedCnn>({3, 9, 9}, {}); }
  SUBCASE("parts that are not equally large") { check_equal<DroppingMlp>({30}, {.batchsize = 13}); }
  SUBCASE("parts without examples") { check_equal<DroppingMlp>({30}, {.batchsize = 4, .parts = 8}); }
  SUBCASE("more parts than ranks") { check_equal<NormalizedCnn>({3, 9, 9}, {.batchsize = 24, .parts = 8}); }
  SUBCASE("with a divided optimizer") { check_equal<DroppingMlp>({30}, {.shards = true}); }
  SUBCASE("static graphs") { check_equal<DroppingMlp>({30}, {.static_graph = true}); }
}

TEST_CASE("reproducible: without it, sums depend on the number of ranks") {
  const auto run = [](int ranks) { return train<TestMlp>(ranks, {30}, {.parts = 0, .by_hand = true})[0]; };
  const Values one = run(1), four = run(4);
  CHECK(one != four);
  const Values parts = train<TestMlp>(4, {30}, {.by_hand = true})[0];
  CHECK(difference(one, parts) < 1e-3);  // Adam's steps magnify what rounding leaves
}

TEST_CASE("reproducible: a step takes the mean over all examples, and reports the mean over the parts") {
  const auto step = [](int64_t parts, Observation& observation) {
    random::seed(4);
    auto model = links::classifier(TestMlp());
    Reporter reporter;
    reporter.add_observer("main", model);
    auto optimizer = create_multi_node_optimizer(optimizers::MomentumSGD(0.1), Communicator(), {.reproducible = parts});
    optimizer.setup(model);
    const TestBatch batch = test_batch(14, {30}, 0);
    const auto scope = reporter.scope(observation);
    optimizer.update(model, Variable(batch.x, false), Variable(batch.t, false));
    return values_of(model);
  };
  Observation whole, divided;
  CHECK(difference(step(0, whole), step(4, divided)) < 1e-6);
  CHECK(divided.at("main/loss") == doctest::Approx(whole.at("main/loss")).epsilon(0.1));
}

TEST_CASE("reproducible: what it cannot do") {
  const Communicator alone;
  CHECK_THROWS_WITH_AS(
      create_multi_node_optimizer(optimizers::Adam(), alone, {.reproducible = 6}),
      "create_multi_node_optimizer: reproducible is 6 with 1 ranks: it must be a power of two that the number of ranks "
      "divides",
      ValueError);
  CHECK_THROWS_AS(create_multi_node_optimizer(optimizers::Adam(), alone, {.overlap = true, .reproducible = 4}),
                  ValueError);
  distributed::run_ranks(2, [](Communicator& comm) {
    CHECK_THROWS_AS(create_multi_node_optimizer(optimizers::Adam(), comm, {.reproducible = 1}), ValueError);
  });
  auto model = links::classifier(TestMlp());
  auto optimizer = create_multi_node_optimizer(optimizers::Adam(), alone, {.reproducible = 4});
  optimizer.setup(model);
  const TestBatch batch = test_batch(8, {30}, 0);
  const Variable x(batch.x, false), t(batch.t, false);
  CHECK_THROWS_WITH_AS(optimizer.update([&] { return model(x, t); }),
                       "Adam::update: with `reproducible` the loss function must take the batch as variables: "
                       "update(lossfun, x, t)",
                       StateError);
  model(x, t).backward();
  CHECK_THROWS_AS(optimizer.update(), StateError);
  const auto config = using_config(&Config::dtype, Dtype::float16);
  auto half = links::classifier(TestMlp());
  auto other = create_multi_node_optimizer(optimizers::Adam(), alone, {.reproducible = 4});
  other.setup(half);
  CHECK_THROWS_WITH_AS(other.update(half, Variable(batch.x.astype(Dtype::float16), false), t),
                       doctest::Contains("with `reproducible` it must be float32 or float64"), StateError);
}

}  // namespace
}  // namespace kusari::reproducible_test
