// ChainerMN's naive communicator with 2 and 3 ranks, 20 steps: tests/golden/chainermn/generate.py computed them.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/hooks/weight_decay.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/golden_data.h"

namespace kusari {
namespace {

using distributed::Communicator;
using serializers::NpzReader;
using testing::on_ranks;

class GoldenModel : public Chain {
 public:
  GoldenModel() : l1{*this, "l1", 5, 7}, l2{*this, "l2", 7, 3}, unused{*this, "unused", {4}, 0} {}
  Variable operator()(const Variable& x, const Variable& t) { return F::softmax_cross_entropy(l2(F::tanh(l1(x))), t); }
  Child<links::Linear> l1, l2;
  Parameter unused;  // has no gradient
};

/// Row i of the first axis, and so on.
Array at(const Array& all, std::initializer_list<int64_t> places) {
  Array part = all;
  for (const int64_t place : places) {
    part = part.slice(0, place, 1).reshape(Shape(part.shape().begin() + 1, part.shape().end()));
  }
  return part.copy();
}

/// A rank's run: calls `step(i)` for each of the 20 steps and compares what is then there with ChainerMN's rank 0.
void compare(const NpzReader& golden, const std::string& optimizer, GoldenModel& model, bool with_unused,
             const std::function<void(int64_t, const Variable& x, const Variable& t)>& step, int rank) {
  const Array x = golden.array("x"), t = golden.array("t");
  for (int64_t i = 0; i < 20; ++i) {
    CAPTURE(i);
    step(i, Variable(at(x, {i, rank}), false), Variable(at(t, {i, rank}), false));
    for (const auto& [path, parameter] : model.namedparams()) {
      if (path == "/unused" && !with_unused) continue;
      CAPTURE(path);
      const Array expected = at(golden.array(optimizer + "/step" + path), {i});
      testing::check_close(parameter->array(), expected.shape(), expected.astype(Dtype::float64).to_vector<double>(),
                           5);
    }
  }
}

void start(const NpzReader& golden, const std::string& optimizer, GoldenModel& model, int rank) {
  for (const auto& [path, parameter] : model.namedparams()) {
    parameter->set_array(golden.array(optimizer + "/init/" + std::to_string(rank) + path));
  }
}

template <class Optimizer>
void check_golden(const std::string& name, const std::function<Optimizer()>& make) {
  for (const int n : {2, 3}) {
    CAPTURE(n);
    CAPTURE(name);
    const NpzReader golden(testing::golden_path("chainermn/naive_" + std::to_string(n) + ".npz"));
    on_ranks<int>(n, [&](Communicator& comm) {
      // As _MultiNodeOptimizer has it: the first update broadcasts and throws the gradient away, the others fill up
      // with zeros.
      GoldenModel model;
      start(golden, name, model, comm.rank());
      Optimizer optimizer = make();
      optimizer.setup(model);
      optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
      const auto step = [&](int64_t i, const Variable& x, const Variable& t) {
        model.cleargrads();
        model(x, t).backward();
        if (i == 0) return comm.bcast_data(model);
        comm.multi_node_mean_grad(model, true);
        optimizer.update();
      };
      compare(golden, name, model, true, step, comm.rank());
      CHECK(optimizer.t() == golden.array(name + "/t").item<int64_t>());

      // The same by a multi-node optimizer that does so itself.
      GoldenModel compatible;
      start(golden, name, compatible, comm.rank());
      Optimizer as_chainer = distributed::create_multi_node_optimizer(make(), comm, {.chainer_compatible = true});
      as_chainer.setup(compatible);
      as_chainer.add_hook(optimizer_hooks::WeightDecay(0.01));
      const auto compatible_update = [&](int64_t, const Variable& x, const Variable& t) {
        as_chainer.update([&] { return compatible(x, t); });
      };
      compare(golden, name, compatible, true, compatible_update, comm.rank());
      CHECK(as_chainer.t() == golden.array(name + "/t").item<int64_t>());

      // And by one that has broadcast before the first step.
      GoldenModel exchanged;
      start(golden, name, exchanged, comm.rank());
      Optimizer multi_node = distributed::create_multi_node_optimizer(make(), comm);
      multi_node.setup(exchanged);
      multi_node.add_hook(optimizer_hooks::WeightDecay(0.01));
      const auto update = [&](int64_t i, const Variable& x, const Variable& t) {
        if (i > 0) multi_node.update([&] { return exchanged(x, t); });
      };
      compare(golden, name, exchanged, false, update, comm.rank());
      return 0;
    });
  }
}

TEST_CASE("ChainerMN's naive communicator: 20 steps with momentum") {
  check_golden<optimizers::MomentumSGD>("MomentumSGD", [] { return optimizers::MomentumSGD(0.1); });
}

TEST_CASE("ChainerMN's naive communicator: 20 steps of Adam") {
  check_golden<optimizers::Adam>("Adam", [] { return optimizers::Adam({.alpha = 0.01}); });
}

TEST_CASE("chainer_compatible: ranks weigh alike, and one rank alone throws its first gradient away, too") {
  for (const int n : {1, 2}) {
    CAPTURE(n);
    on_ranks<int>(n, [&](Communicator& comm) {
      GoldenModel model;
      auto optimizer = distributed::create_multi_node_optimizer(optimizers::SGD(1), comm, {.chainer_compatible = true});
      optimizer.setup(model);
      const auto step = [&](double gradient) {
        model.cleargrads();
        model.unused.set_grad(full_like(model.unused.array(), gradient));
        distributed::note_examples(optimizer, comm.rank() == 0 ? 3 : 1);
        optimizer.update();
        return model.unused.array().to_vector<double>()[0];
      };
      CHECK(step(5) == 0);
      CHECK(optimizer.t() == 0);
      CHECK(step(comm.rank() == 0 ? 2 : 6) == (n == 1 ? -2 : -4));
      CHECK(optimizer.t() == 1);
      return 0;
    });
  }
  CHECK_THROWS_AS(distributed::create_multi_node_optimizer(optimizers::SGD(), Communicator(),
                                                           {.overlap = true, .chainer_compatible = true}),
                  ValueError);
}

}  // namespace
}  // namespace kusari
