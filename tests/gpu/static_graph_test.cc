#include "kusari/framework/static_graph/static_graph.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/rnn/recurrent_layer.h"
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

TEST_CASE("static_graph on a device: arguments may go, and be written to, before the device has run") {
  const auto device = gpu_device();
  if (!device) return;
  const auto guard = no_backprop_mode();
  const auto call = [](const Variable& x) { return F::tanh(x) * x; };
  auto graph = static_graph(call, {.copy_outputs = true});
  constexpr int kCalls = 8;
  std::vector<Variable> results;
  std::vector<Array> others;
  for (int i = 0; i < kCalls; ++i) {
    {
      const Array x = batch(30, 40, i).to_device(*device);
      results.push_back(graph(Variable(x, false)));
      if (i % 2 == 0) x.fill(-100);
    }
    others.push_back(full({30, 40}, 1000.0, Dtype::float32, *device));  // has the memory of x
  }
  for (int i = 0; i < kCalls; ++i) {
    CAPTURE(i);
    const Variable x(batch(30, 40, i).to_device(*device), false);
    CHECK(results[static_cast<size_t>(i)].to_vector<float>() == call(x).to_vector<float>());
  }
}

TEST_CASE("static_graph on a device: calls by several threads") {
  const auto device = gpu_device();
  if (!device) return;
  Net net(16, 5);
  net.to(*device);
  const auto testing = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Variable first(batch(6, 7, 0).to_device(*device));
  net(first);
  auto graph = static_graph(net);
  for (int i = 0; i < 2; ++i) graph(first);
  const auto check_calls = [&] {
    for (int i = 0; i < 4; ++i) {
      const Variable x(batch(6, 7, i).to_device(*device));
      const std::vector<float> got = graph(x).to_vector<float>();
      const auto plain = using_config(&Config::use_static_graph, false);
      const std::vector<float> expected = net(x).to_vector<float>();
      REQUIRE(got.size() == expected.size());
      for (size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-5).scale(1));
    }
  };
  // The second thread finds a step to be captured, for which it has nothing prepared.
  std::thread([&] {
    const auto in_thread = using_config(&Config::train, false);
    const auto no_graph_here = no_backprop_mode();
    check_calls();
  }).join();
  check_calls();
}

TEST_CASE("static_graph on a device: no more memory than define-by-run") {
  const auto device = gpu_device();
  if (!device) return;
  Backend& backend = device->backend();
  const auto most_of = [&](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(3);
    const int64_t before = backend.memory_statistics(device->index()).allocated;
    auto model = static_graph(L::classifier(Net(400, 10)));
    model.to(*device);
    optimizers::MomentumSGD optimizer(0.1);
    optimizer.setup(model);
    for (int step = 0; step < 6; ++step) {
      if (step == 3) backend.reset_max_allocated(device->index());
      const Variable loss = model(batch(300, 200, step).to_device(*device), labels(300, 10, step).to_device(*device));
      model.cleargrads();
      loss.backward();
      optimizer.update();
    }
    return backend.memory_statistics(device->index()).max_allocated - before;
  };
  const int64_t define_by_run = most_of(false), replayed = most_of(true);
  CAPTURE(define_by_run);
  CAPTURE(replayed);
  CHECK(static_cast<double>(replayed) < 1.25 * static_cast<double>(define_by_run));
}

// What reads sizes on the host, and what is cut into parts.
TEST_CASE("static_graph on a device: recurrent layers and attention") {
  const auto device = gpu_device();
  if (!device) return;
  const auto numbers = [&](const Shape& shape, int seed) {
    return uniform_like(zeros(shape), seed).to_device(*device);
  };
  const std::vector<int64_t> sizes = {3, 2, 1};
  const Array w = numbers({16, 4}, 1), b = numbers({16}, 2), h = numbers({3, 4}, 3), c = numbers({3, 4}, 4);
  const auto recurrent = [&](const Variable& x) {
    const kernels::RecurrentLayer layer{kernels::RecurrentCell::lstm, true};
    return F::recurrent_layer(layer, sizes, x, Variable(h), Variable(c), Variable(w), Variable(b)).y;
  };
  const auto attention = [](const Variable& q) {
    return F::scaled_dot_product_attention(q, q, q, {.is_causal = true, .dropout = 0.2});
  };
  const auto run = [&](const auto& call, const Shape& shape, bool is_recorded) {
    const auto guard = using_config(&Config::use_static_graph, is_recorded);
    random::seed(7);
    auto graph = static_graph(call);
    std::vector<float> result;
    for (int i = 0; i < 4; ++i) {
      const Variable x(numbers(shape, 10 + i));
      const Variable y = graph(x);
      append(result, y.array());
      append(result, grad({F::sum(y * y)}, {x})[0].array());
    }
    return result;
  };
  CHECK(run(recurrent, {6, 16}, true) == run(recurrent, {6, 16}, false));
  CHECK(run(attention, {2, 2, 5, 4}, true) == run(attention, {2, 2, 5, 4}, false));
}

}  // namespace
}  // namespace kusari
