#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

// Calls whose backward is still to come, while other things happen.
namespace kusari {
namespace {

using testing::append;

Variable learnt_values(double first) { return Variable(array<float>({static_cast<float>(first), 2}), true); }

struct Fixture {
  Parameter w{array<float>({0.5f, 0.6f})};
  Variable operator()(const Variable& x) { return F::tanh(x * w); }
};

template <class Call>
std::vector<float> gradients_in_order(Fixture& fixture, Call&& call, const std::vector<size_t>& order) {
  fixture.w.cleargrad();
  std::vector<Variable> inputs, results;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(learnt_values(0.1 * i));
    results.push_back(call(inputs.back()));
  }
  std::vector<float> numbers;
  for (const size_t i : order) {
    F::sum(results[i] * results[i]).backward();
    append(numbers, inputs[i].grad());
  }
  for (const Variable& result : results) append(numbers, result.array());
  append(numbers, fixture.w.grad());
  return numbers;
}

}  // namespace

TEST_CASE("static_graph: calls in flight go backward in any order, or not at all") {
  Fixture fixture;
  auto graph = static_graph([&](const Variable& x) { return fixture(x); });
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {2}, {1, 3}, {0, 1, 2, 3}, {3, 0}}) {
    CHECK(gradients_in_order(fixture, graph, order) == gradients_in_order(fixture, fixture, order));
  }
}

TEST_CASE("static_graph: the graph goes, moves or forgets while calls are in flight") {
  Fixture fixture;
  const auto function = [&](const Variable& x) { return fixture(x); };
  using Graph = decltype(static_graph(function));
  const std::vector<void (*)(std::unique_ptr<Graph>&)> happenings = {
      [](std::unique_ptr<Graph>& graph) { graph = nullptr; }, [](std::unique_ptr<Graph>& graph) { graph->clear(); },
      [](std::unique_ptr<Graph>& graph) {
        graph = std::make_unique<Graph>(std::move(*graph));
        (*graph)(learnt_values(1));
      },
      [](std::unique_ptr<Graph>& graph) {
        graph = std::make_unique<Graph>(*graph);
        (*graph)(learnt_values(1));
      }};
  for (const bool is_recorded : {false, true}) {
    for (const auto& happening : happenings) {
      const auto gradients = [&](auto& call, auto&& happen) {
        fixture.w.cleargrad();
        const Variable x = learnt_values(0.3);
        const Variable y = call(x), other = call(x);
        happen();
        (F::sum(y * y) + F::sum(other)).backward();
        std::vector<float> numbers = x.grad().to_vector<float>();
        append(numbers, fixture.w.grad());
        return numbers;
      };
      auto graph = std::make_unique<Graph>(static_graph(function));
      if (is_recorded) F::sum((*graph)(learnt_values(1))).backward();
      const auto call = [&](const Variable& x) { return (*graph)(x); };
      const std::vector<float> replayed = gradients(call, [&] { happening(graph); });
      CHECK(replayed == gradients(fixture, [] {}));
    }
  }
}

TEST_CASE("static_graph: two graphs share parameters, and their gradients accumulate") {
  const auto run = [](bool use_static_graph) {
    const auto mode = using_config(&Config::use_static_graph, use_static_graph);
    Parameter w(array<float>({0.5f, 0.6f})), v(array<float>({0.1f, 0.6f}));
    auto first = static_graph([&](const Variable& x) { return F::tanh(x * w) + v; });
    auto second = static_graph([&](const Variable& x) { return F::exp(x * w * v); });
    std::vector<float> numbers;
    w.cleargrad();
    v.cleargrad();
    for (int i = 0; i < 7; ++i) {
      const Variable x = learnt_values(0.1 * i);
      const Variable middle = first(x);
      const Variable loss = F::sum(second(middle) * w + middle * middle);
      if (i == 4) w.cleargrad();
      loss.backward({.retain_grad = true});
      for (const Array& each : {x.grad(), middle.grad(), w.grad(), v.grad(), loss.array()}) append(numbers, each);
    }
    return numbers;
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("static_graph: a chain of calls that is cut between them") {
  const auto run = [](bool use_static_graph) {
    const auto mode = using_config(&Config::use_static_graph, use_static_graph);
    Fixture fixture;
    auto graph = static_graph([&](const Variable& x) { return fixture(x); });
    std::vector<float> numbers;
    for (int i = 0; i < 4; ++i) {
      fixture.w.cleargrad();
      const Variable x = learnt_values(i);
      Variable middle = graph(x * 2);
      const Variable loss = F::sum(graph(middle));
      middle.unchain_backward();
      loss.backward();
      CHECK(!x.grad().is_defined());
      append(numbers, fixture.w.grad());
    }
    return numbers;
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("static_graph: grad() through a call, to arguments and parameters") {
  const auto run = [](bool use_static_graph) {
    const auto mode = using_config(&Config::use_static_graph, use_static_graph);
    Fixture fixture;
    auto graph = static_graph([&](const Variable& x, const Variable& scale) {
      const Variable y = fixture(x) * scale;
      return Variables(y, y * 2);
    });
    std::vector<float> numbers;
    for (int i = 0; i < 6; ++i) {
      const Variable x = learnt_values(0.1 * i), scale = learnt_values(0.4);
      const Variables y = graph(x, scale);
      const Variable out = y[0] + y[1];
      const std::vector<Variable> targets = i % 3 == 0   ? std::vector<Variable>{x, fixture.w}
                                            : i % 3 == 1 ? std::vector<Variable>{fixture.w}
                                                         : std::vector<Variable>{scale};
      for (const Variable& gradient : grad(std::vector<Variable>{F::sum(out * out)}, targets))
        append(numbers, gradient.array());
      CHECK(!fixture.w.grad().is_defined());
    }
    return numbers;
  };
  CHECK(run(true) == run(false));
}

}  // namespace kusari
