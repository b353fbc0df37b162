// Training of a model over two ranks by the ordinary updater, trainer and evaluator.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/distributed/datasets/empty_dataset.h"
#include "kusari/framework/distributed/datasets/scatter_dataset.h"
#include "kusari/framework/distributed/links/multi_node_chain_list.h"
#include "kusari/framework/distributed/multi_node_evaluator.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/distributed/functions/collective_check.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::MultiNodeChainList;
using testing::on_ranks;
using testing::uniform;
namespace L = links;

constexpr int64_t kTrainExamples = 12, kTestExamples = 5, kInputs = 6, kUnits = 8, kClasses = 3;

L::Linear fixed_layer(int64_t in, int64_t out, uint64_t seed) {
  L::Linear link(in, out);
  link.cleargrads();
  link.W.set_array(uniform({out, in}, -0.5, 0.5, seed).astype(Dtype::float32));
  link.b.set_array(uniform({out}, -0.5, 0.5, seed + 1).astype(Dtype::float32));
  return link;
}

class First : public Chain {
 public:
  First() : l1{*this, "l1", fixed_layer(kInputs, kUnits, 1)} {}
  Variable operator()(const Variable& x) const { return F::relu(l1(x)); }
  Child<L::Linear> l1;
};
class Scores : public Chain {
 public:
  Variable operator()(const Variable& y) const { return y; }
};
class Others : public Chain {
 public:
  Others() : l2{*this, "l2", fixed_layer(kUnits, kUnits, 3)}, l3{*this, "l3", fixed_layer(kUnits, kClasses, 5)} {}
  Variable operator()(const Variable& h) const { return l3(F::relu(l2(h))); }
  Child<L::Linear> l2, l3;
};
class Whole : public Chain {
 public:
  Variable operator()(const Variable& x) const { return others(first(x)); }
  Child<First> first{*this, "first"};
  Child<Others> others{*this, "others"};
};

datasets::TupleDataset data(int64_t n, uint64_t seed) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>((i * 7 + 1) % kClasses));
  return datasets::TupleDataset(uniform({n, kInputs}, -1, 1, seed).astype(Dtype::float32), array(labels));
}

using Values = std::map<std::string, std::vector<float>>;

Values values_of(Link& model) {
  Values values;
  for (const auto& [path, parameter] : model.namedparams()) values[path] = parameter->to_vector<float>();
  return values;
}

/// Two epochs; gives the last evaluation's loss, or -1 where nothing is reported.
template <class Model>
double train(Model& model, Optimizer& optimizer, const datasets::Dataset& train, const datasets::Dataset& test,
             int64_t batch, const Communicator* data_ranks = nullptr) {
  const testing::ScratchDirectory directory;
  optimizer.setup(model);
  iterators::SerialIterator train_iter(train, batch, {.shuffle = false});
  iterators::SerialIterator test_iter(test, 2, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer);
  training::Trainer trainer(updater, {2, "epoch"}, directory.path());
  if (data_ranks != nullptr) {
    trainer.extend(distributed::create_multi_node_evaluator(extensions::Evaluator(test_iter, model), *data_ranks));
  } else {
    trainer.extend(extensions::Evaluator(test_iter, model));
  }
  trainer.run();
  const ObservedValue* loss = trainer.observation().find("validation/main/loss");
  return loss == nullptr ? -1 : loss->value();
}

void check_values(Link& found, const std::string& prefix, const Values& expected, const std::string& expected_prefix) {
  for (const auto& [path, value] : values_of(found)) {
    CAPTURE(path);
    REQUIRE(path.starts_with(prefix));
    const std::vector<float>& other = expected.at(expected_prefix + path.substr(prefix.size()));
    REQUIRE(value.size() == other.size());
    for (size_t i = 0; i < value.size(); ++i) CHECK(value[i] == doctest::Approx(other[i]).epsilon(1e-5).scale(0.1));
  }
}

TEST_CASE("a pipeline of two ranks trains as the model in one process does, and evaluates") {
  const datasets::TupleDataset train_data = data(kTrainExamples, 11), test_data = data(kTestExamples, 12);
  auto whole = L::classifier(Whole());
  optimizers::Adam alone;
  const double loss = train(whole, alone, train_data, test_data, 4);
  const Values expected = values_of(whole);
  on_ranks<int>(2, [&](Communicator& comm) {
    optimizers::Adam optimizer;
    MultiNodeChainList stages(comm);
    if (comm.is_root()) {
      stages.add_link(First(), {.rank_out = 1});
      stages.add_link(Scores(), {.rank_in = 1});
      auto model = L::classifier(std::move(stages));
      CHECK(train(model, optimizer, train_data, test_data, 4) == doctest::Approx(loss).epsilon(1e-5));
      check_values(model, "/predictor/0", expected, "/predictor/first");
    } else {
      stages.add_link(Others(), {.rank_in = 0, .rank_out = 0});
      const auto no_inputs = distributed::create_empty_dataset(train_data);
      CHECK(train(stages, optimizer, no_inputs, distributed::create_empty_dataset(test_data), 4) == -1);
      check_values(stages, "/0", expected, "/predictor/others");
    }
    return 0;
  });
}

TEST_CASE("two pipelines of two ranks train as one process with the whole batch does") {
  const datasets::TupleDataset train_data = data(kTrainExamples, 11), test_data = data(4, 12);
  // Rank 0 and 2 have examples 0 .. 5 and 6 .. 11: of each batch of 4, one process takes two of each.
  class Interleaved final : public datasets::Dataset {
   public:
    explicit Interleaved(const datasets::Dataset& whole) : whole_{whole} {}
    int64_t size() const override { return whole_.size(); }
    datasets::Example get(int64_t i) const override {
      const int64_t batch = i / 4, place = i % 4;
      return whole_.get(place / 2 * (size() / 2) + batch * 2 + place % 2);
    }

   private:
    const datasets::Dataset& whole_;
  };
  auto whole = L::classifier(Whole());
  optimizers::Adam alone;
  const double loss = train(whole, alone, Interleaved(train_data), test_data, 4);
  const Values expected = values_of(whole);
  on_ranks<int>(4, [&](Communicator& comm) {
    const int stage = comm.rank() % 2, pair = comm.rank() / 2;
    const Communicator data_ranks = comm.split(stage, comm.rank()), pipeline = comm.split(pair, comm.rank());
    auto optimizer = distributed::create_multi_node_optimizer(optimizers::Adam(), data_ranks);
    MultiNodeChainList stages(pipeline);
    std::optional<datasets::DatasetRef> own_train, own_test;
    if (stage == 0) {
      stages.add_link(First(), {.rank_out = 1});
      stages.add_link(Scores(), {.rank_in = 1});
      if (pair == 0) own_train = train_data, own_test = test_data;
    } else {
      stages.add_link(Others(), {.rank_in = 0, .rank_out = 0});
      if (pair == 0) {
        own_train = distributed::create_empty_dataset(train_data);
        own_test = distributed::create_empty_dataset(test_data);
      }
    }
    const auto train_part = distributed::scatter_dataset(own_train, data_ranks);
    const auto test_part = distributed::scatter_dataset(own_test, data_ranks);
    if (stage == 0) {
      auto model = L::classifier(std::move(stages));
      CHECK(train(model, optimizer, train_part, test_part, 2, &data_ranks) == doctest::Approx(loss).epsilon(1e-5));
      check_values(model, "/predictor/0", expected, "/predictor/first");
    } else {
      train(stages, optimizer, train_part, test_part, 2, &data_ranks);
      check_values(stages, "/0", expected, "/predictor/others");
    }
    return 0;
  });
}

}  // namespace
}  // namespace kusari
