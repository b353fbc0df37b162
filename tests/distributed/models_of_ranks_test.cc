#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/updaters/parallel_updater.h"

// What ranks do whose models, shapes or numbers of examples differ.
namespace kusari::testing {
namespace {

using distributed::Communicator;
using distributed::create_multi_node_optimizer;
using distributed::run_ranks;

TEST_CASE("multi-node optimizer: ranks that differ are told apart") {
  const auto other_models = [](Communicator& comm) {
    TestMlp model(comm.rank() == 0 ? 16 : 8);
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
  };
  CHECK_THROWS_WITH_AS(
      run_ranks(2, other_models),
      "Optimizer::setup: the models differ: rank 0 of 2 (thread 0) has '/l1/W' (float32 (16, 3)) where "
      "rank 1 of 2 (thread 1) has '/l1/W' (float32 (8, 3))",
      StateError);
  const auto other_calls = [](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    if (comm.rank() == 1) optimizer.update();
    comm.allreduce_obj(1.0);
    if (comm.rank() == 0) optimizer.update();
  };
  CHECK_THROWS_AS(run_ranks(2, other_calls), Error);
  const auto leaves = [](Communicator& comm) {
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    auto optimizer = create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    optimizer.update();
    if (comm.rank() == 0) optimizer.update();
  };
  CHECK_THROWS_AS(run_ranks(2, leaves), RemoteError);
  run_ranks(1, [](Communicator& comm) {
    CHECK_THROWS_WITH_AS(create_multi_node_optimizer(optimizers::SGD(), comm, {.bucket_bytes = -1}),
                         "create_multi_node_optimizer: bucket_bytes is -1: it must not be negative", ValueError);
  });
}

TEST_CASE("communicator: bcast_data where ranks know other shapes") {
  for (const int knowing : {0, 1}) {
    run_ranks(2, [&](Communicator& comm) {
      TestMlp model;
      const bool knows = comm.rank() == knowing;
      if (knows) model(Variable(test_batch(4, {3}, 0).x, false));
      for (const auto& [path, parameter] : model.namedparams(false)) {
        parameter->array().fill(static_cast<double>(path.size()) + 10 * comm.rank());
      }
      comm.bcast_data(model);
      for (const auto& [path, parameter] : model.namedparams()) {
        CAPTURE(path);
        CHECK(parameter->is_initialized() == (knowing == 0 || knows || path != "/l1/W"));
        if (!parameter->is_initialized()) continue;
        const bool is_own = knowing == 1 && knows && path == "/l1/W";
        CHECK(parameter->array().to_vector<double>()[0] == static_cast<double>(path.size()) + (is_own ? 10 : 0));
      }
    });
  }
}

class TestMean : public Chain {
 public:
  TestMean() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 1}} {}
  Variable operator()(const Variable& x) const { return functions::average(l(x)); }
  Child<links::Linear> l;
};

/// A rank's model, and the optimizer of all ranks.
struct MeanOfRanks {
  explicit MeanOfRanks(const Communicator& comm) { create_multi_node_optimizer(optimizer, comm).setup(model); }
  TestMean model;
  optimizers::SGD optimizer{1};
};

TEST_CASE("ParallelUpdater: ranks weigh as many examples as they have") {
  std::vector<double> steps(2);
  run_ranks(2, [&](Communicator& comm) {
    MeanOfRanks rank(comm);
    const Array x = comm.rank() == 0 ? full({3, 1}, 1, Dtype::float32) : full({1, 1}, 5, Dtype::float32);
    iterators::SerialIterator batches(datasets::TupleDataset(x), x.shape(0));
    updaters::ParallelUpdater updater(batches, rank.optimizer, {.devices = {{"main", Device()}}});
    updater.update();
    steps[static_cast<size_t>(comm.rank())] = 1 - rank.model.l.W.array().to_vector<double>()[0];
  });
  CHECK(steps == std::vector<double>{2, 2});
}

TEST_CASE("ParallelUpdater: as many replicas on all ranks, which draw as many numbers") {
  std::vector<uint64_t> drawn(2);
  const auto train = [&](Communicator& comm, size_t replicas) {
    MeanOfRanks rank(comm);
    const Array x = ones({comm.rank() == 0 ? 3 : 1, 1}, Dtype::float32);  // one replica of rank 1 has no example
    iterators::SerialIterator batches(datasets::TupleDataset(x), x.shape(0));
    updaters::NamedDevices devices{{"main", Device()}};
    if (replicas == 2) devices.emplace_back("second", Device());
    updaters::ParallelUpdater updater(batches, rank.optimizer,
                                      {.model = rank.model, .devices = devices, .average = true});
    for (int step = 0; step < 2; ++step) updater.update();  // the first shares the root's random numbers
    drawn[static_cast<size_t>(comm.rank())] = random::bits();
  };
  run_ranks(2, [&](Communicator& comm) { train(comm, 2); });
  CHECK(drawn[0] == drawn[1]);
  CHECK_THROWS_WITH_AS(run_ranks(2, [&](Communicator& comm) { train(comm, comm.rank() == 0 ? 2 : 1); }),
                       "SGD::update: rank 1 of 2 (thread 1) and rank 0 of 2 (thread 0) have 1 and 2 replicas of the "
                       "model: ParallelUpdater must have as many on all ranks",
                       StateError);
}

TEST_CASE("multi-node optimizer: a loss that throws leaves no examples for the next step") {
  for (const bool in_backward : {false, true}) {
    CAPTURE(in_backward);
    std::vector<double> steps(2);
    run_ranks(2, [&](Communicator& comm) {
      MeanOfRanks rank(comm);
      const Variable x(full({1, 1}, comm.rank() == 0 ? 1 : 5, Dtype::float32), false);
      if (comm.rank() == 0) {
        distributed::note_examples(rank.optimizer, 100);
        CHECK_THROWS_AS(rank.optimizer.update([&]() -> Variable {
          if (in_backward) return Variable(x.array(), false);  // has no graph
          throw std::runtime_error("bad example");
        }),
                        std::exception);
      }
      distributed::note_examples(rank.optimizer, comm.rank() == 0 ? 3 : 1);
      rank.optimizer.update([&] { return rank.model(x); });
      steps[static_cast<size_t>(comm.rank())] = 1 - rank.model.l.W.array().to_vector<double>()[0];
    });
    CHECK(steps == std::vector<double>{2, 2});
  }
}

TEST_CASE("communicator: means of gradients of which some ranks do not know the shape") {
  for (const bool zero_fill : {false, true}) {
    CAPTURE(zero_fill);
    CHECK_THROWS_WITH_AS(run_ranks(2,
                                   [&](Communicator& comm) {
                                     TestMlp model;
                                     if (comm.is_root()) model(Variable(test_batch(4, {3}, 0).x, false));
                                     comm.multi_node_mean_grad(model, zero_fill);
                                   }),
                         "Communicator::multi_node_mean_grad: the models differ: rank 0 of 2 (thread 0) has '/l1/W' "
                         "(float32 (16, 3)) where rank 1 of 2 (thread 1) has '/l1/W' (unknown shape)",
                         StateError);
  }
  run_ranks(2, [](Communicator& comm) {  // no rank has a gradient for it
    TestMlp model;
    if (comm.is_root()) model(Variable(test_batch(4, {3}, 0).x, false));
    model.cleargrads();
    model.l2.b.set_grad(full_like(model.l2.b.array(), 2 * comm.rank()));
    comm.multi_node_mean_grad(model);
    CHECK(model.l2.b.grad().to_vector<double>()[0] == 1);
  });
}

TEST_CASE("communicator: models share the root's values, and means of gradients") {
  run_ranks(3, [](Communicator& comm) {
    random::seed(static_cast<uint64_t>(comm.rank()));
    TestMlp model;
    model(Variable(test_batch(4, {3}, 0).x, false));
    model.cleargrads();
    comm.bcast_data(model);
    const std::vector<Array> all = comm.allgather(array<double>(values_of(model)));
    for (const Array& other : all) CHECK(other.to_vector<double>() == all[0].to_vector<double>());
    if (comm.rank() != 0) model.l1.b.set_grad(full_like(model.l1.b.array(), 3));
    comm.multi_node_mean_grad(model);
    CHECK(model.l1.b.grad().to_vector<double>()[0] == doctest::Approx(2));
    CHECK(!model.l2.b.grad().is_defined());
    comm.allreduce_grad(model, true);
    CHECK(model.l2.b.grad().to_vector<double>()[0] == 0);
  });
}

}  // namespace
}  // namespace kusari::testing
