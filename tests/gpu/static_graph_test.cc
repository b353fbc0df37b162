#include "kusari/framework/static_graph/static_graph.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

namespace F = kusari::functions;

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("static_graph on a device: training gives the numbers of define-by-run") {
  const auto device = gpu_device();
  if (!device) return;
  for (const bool passes : {false, true}) {
    CAPTURE(passes);
    const auto train = [&](bool use_static_graph) {
      const auto guard = using_config(&Config::use_static_graph, use_static_graph);
      random::seed(3);
      auto model = static_graph(L::classifier(Net(16, 5)), options_with(passes));
      model.to(*device);
      optimizers::MomentumSGD optimizer(0.1);
      optimizer.setup(model);
      std::vector<float> numbers;
      for (int step = 0; step < 5; ++step) {
        const Variable loss = model(batch(8, 7, step).to_device(*device), labels(8, 5, step).to_device(*device));
        model.cleargrads();
        loss.backward();
        optimizer.update();
        numbers.push_back(loss.item<float>());
        append(numbers, model.model().y.array());
      }
      append_all(numbers, model);
      return numbers;
    };
    CHECK(train(true) == train(false));
  }
}

TEST_CASE("static_graph on a device: several calls in flight") {
  const auto device = gpu_device();
  if (!device) return;
  const auto train = [&](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(5);
    Cell cell(4, 6);
    cell.to(*device);
    auto step = static_graph(cell, options_with(false));
    optimizers::MomentumSGD optimizer(0.05);
    optimizer.setup(cell);
    std::vector<float> numbers;
    for (int iteration = 0; iteration < 4; ++iteration) {
      Variable h(zeros({3, 6}, Dtype::float32, *device), false);
      Variable loss;
      for (int t = 0; t < 4; ++t) {
        h = step(batch(3, 4, 10 * iteration + t).to_device(*device), h);
        const Variable term = F::sum(h * h);
        loss = loss.is_defined() ? loss + term : term;
      }
      cell.cleargrads();
      loss.backward();
      optimizer.update();
      numbers.push_back(loss.item<float>());
    }
    append_all(numbers, cell);
    return numbers;
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("static_graph on a device: what a replay overwrites says so, copies stay") {
  const auto device = gpu_device();
  if (!device) return;
  const auto guard = no_backprop_mode();
  const auto call = [](const Variable& x) { return F::tanh(x); };
  const auto input = [&](int i) { return Variable(uniform_like(zeros({4}), i).to_device(*device), false); };
  auto graph = static_graph(call, {.name = "Lending"});
  graph(input(0));
  const Variable first = graph(input(1));
  CHECK(first.to_vector<float>() == F::tanh(input(1)).to_vector<float>());
  const Variable second = graph(input(2));
  CHECK_THROWS_WITH_AS(first.to_vector<float>(), doctest::Contains("static graph 'Lending'"), StateError);
  CHECK_THROWS_WITH_AS(F::tanh(first), doctest::Contains("static graph 'Lending'"), StateError);
  CHECK_THROWS_WITH_AS(graph(first), doctest::Contains("static graph 'Lending'"), StateError);
  CHECK(second.to_vector<float>() == F::tanh(input(2)).to_vector<float>());
  auto copying = static_graph(call, {.copy_outputs = true});
  std::vector<Variable> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(copying(input(i)));
  for (int i = 0; i < 4; ++i) {
    CHECK(kept[static_cast<size_t>(i)].to_vector<float>() == F::tanh(input(i)).to_vector<float>());
  }
}

TEST_CASE("static_graph on a device: parameters get other arrays") {
  const auto device = gpu_device();
  if (!device) return;
  Net net(4, 2);
  net.to(*device);
  auto graph = static_graph(net, options_with(false));
  const auto guard = using_config(&Config::train, false);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      const Variable x(batch(3, 5, i).to_device(*device));
      const std::vector<float> expected = net(x).to_vector<float>();
      CHECK(graph(x).to_vector<float>() == expected);
      const auto no_graph = no_backprop_mode();
      CHECK(graph(x).to_vector<float>() == expected);
    }
    if (round == 0) net.l1.W.set_array(uniform_like(net.l1.W.array(), 1).to_device(*device));
    if (round == 1) net.l1.W.array().copy_from(uniform_like(net.l1.W.array(), 2));
  }
}

}  // namespace
}  // namespace kusari
