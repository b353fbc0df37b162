#include "kusari/framework/static_graph/static_graph.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

namespace F = kusari::functions;

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("static_graph: training by replays gives the numbers of define-by-run") {
  for (const bool passes : {false, true}) {
    CAPTURE(passes);
    const auto train = [&](bool use_static_graph) {
      const auto guard = using_config(&Config::use_static_graph, use_static_graph);
      random::seed(3);
      auto model = static_graph(L::classifier(Net(16, 5)), options_with(passes));
      optimizers::MomentumSGD optimizer(0.1);
      optimizer.setup(model);
      std::vector<float> numbers;
      for (int step = 0; step < 6; ++step) {
        const Variable loss = model(batch(8, 7, step), labels(8, 5, step));
        model.cleargrads();
        loss.backward();
        optimizer.update();
        numbers.push_back(loss.item<float>());
        append(numbers, model.model().y.array());
        append(numbers, model.model().accuracy.array());
      }
      append_all(numbers, model);
      return numbers;
    };
    CHECK(train(true) == train(false));
  }
}

TEST_CASE("static_graph: a call is recorded once and replayed") {
  int calls = 0;
  auto twice = static_graph([&](const Variable& x) {
    ++calls;
    return F::tanh(x) * 2;
  });
  for (int i = 0; i < 4; ++i) {
    Variable x(full({3}, 0.1 * i, Dtype::float32));
    Variable y = twice(x);
    CHECK(y.to_vector<float>() == (F::tanh(x) * 2).to_vector<float>());
    F::sum(y).backward();
    Variable z(x.array());
    F::sum(F::tanh(z) * 2).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
  }
  CHECK(calls == 1);
  {
    const auto guard = no_backprop_mode();
    for (int i = 0; i < 3; ++i) CHECK(!twice(Variable(full({3}, i, Dtype::float32))).creator());
  }
  CHECK(calls == 2);
  twice(full({2, 2}, 1, Dtype::float32));
  twice(full({2, 2}, 1, Dtype::float32));
  CHECK(calls == 3);
  twice.clear();
  twice(full({2, 2}, 1, Dtype::float32));
  CHECK(calls == 4);
}

TEST_CASE("static_graph: it is off where it should be") {
  int calls = 0;
  const auto counted = [&](const Variable& x) {
    ++calls;
    return F::tanh(x);
  };
  const Variable x(full({3}, 0.5, Dtype::float32), false);
  {
    auto graph = static_graph(counted);
    const auto guard = using_config(&Config::use_static_graph, false);
    for (int i = 0; i < 3; ++i) graph(x);
    const auto debug = using_config(&Config::debug, true);
    const auto on = using_config(&Config::use_static_graph, true);
    for (int i = 0; i < 3; ++i) graph(x);
    CHECK(calls == 6);
  }
  calls = 0;
  auto graph = static_graph(counted, {.force_test_define_by_run = true});
  {
    const auto guard = using_config(&Config::train, false);
    for (int i = 0; i < 3; ++i) graph(x);
    CHECK(calls == 3);
  }
  for (int i = 0; i < 3; ++i) graph(x);
  CHECK(calls == 4);
}

TEST_CASE("static_graph: results travel as Variables, containers and tuples") {
  const Variable x(full({2}, 3, Dtype::float32));
  auto many = static_graph([](const Variable& v) { return Variables(v + 1, v * 2, v); });
  auto vector = static_graph([](const Variable& v) { return std::vector<Variable>{v + 1, v * 2}; });
  auto pair = static_graph([](const Variable& v) { return std::pair<Variable, Variable>(v + 1, v * 2); });
  auto tuple = static_graph([](const Variable& v, const Variable& w) { return std::tuple(v + w, v * w, Variable()); });
  for (int i = 0; i < 3; ++i) {
    const Variables a = many(x);
    REQUIRE(a.size() == 3);
    CHECK(a[0].to_vector<float>() == std::vector<float>{4, 4});
    CHECK(a[1].to_vector<float>() == std::vector<float>{6, 6});
    CHECK(a[2].to_vector<float>() == std::vector<float>{3, 3});
    const Variable total = F::sum(a[0] + a[1] * a[2]);
    Variable(x).cleargrad();
    total.backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{1 + 6 + 6, 1 + 6 + 6});
    const std::vector<Variable> b = vector(x);
    CHECK(b.at(1).to_vector<float>() == std::vector<float>{6, 6});
    const auto [c, d] = pair(x);
    CHECK(d.to_vector<float>() == std::vector<float>{6, 6});
    const auto [e, f, g] = tuple(x, full({2}, 5, Dtype::float32));
    CHECK(e.to_vector<float>() == std::vector<float>{8, 8});
    CHECK(f.to_vector<float>() == std::vector<float>{15, 15});
    CHECK(!g.is_defined());
  }
}

TEST_CASE("static_graph: an unrolled recurrent network has several calls in flight") {
  const auto train = [](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(5);
    Cell cell(4, 6);
    auto step = static_graph(cell, options_with(false));
    optimizers::MomentumSGD optimizer(0.05);
    optimizer.setup(cell);
    std::vector<float> numbers;
    for (int iteration = 0; iteration < 5; ++iteration) {
      Variable h(zeros({3, 6}), false);
      Variable loss;
      for (int t = 0; t < 5; ++t) {
        h = step(batch(3, 4, 10 * iteration + t), h);
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

TEST_CASE("static_graph: two networks against each other, one used twice") {
  const auto train = [](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(6);
    auto generator = static_graph(Net(8, 6), options_with(false));
    auto critic = static_graph(Net(8, 1), options_with(false));
    optimizers::MomentumSGD g_optimizer(0.01), d_optimizer(0.01);
    g_optimizer.setup(generator);
    d_optimizer.setup(critic);
    std::vector<float> numbers;
    for (int i = 0; i < 5; ++i) {
      const Variable fake = generator(batch(4, 3, i));
      const Variable on_real = critic(batch(4, 6, 100 + i)), on_fake = critic(fake);
      const Variable g_loss = F::sum(on_fake) * -1;
      const Variable d_loss = F::sum(on_fake) - F::sum(on_real);
      (void)d_loss;
      generator.cleargrads();
      critic.cleargrads();
      (g_loss + F::sum(on_real * on_real)).backward();
      g_optimizer.update();
      d_optimizer.update();
      append(numbers, on_fake.array());
      append(numbers, on_real.array());
    }
    append_all(numbers, generator);
    append_all(numbers, critic);
    return numbers;
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("static_graph: train and test modes alternate") {
  const auto run = [](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(7);
    auto net = static_graph(Net(8, 4), options_with(false));
    std::vector<float> numbers;
    for (int i = 0; i < 6; ++i) {
      net.cleargrads();
      F::sum(net(batch(5, 3, i))).backward();
      const auto test = using_config(&Config::train, false);
      const auto no_graph = no_backprop_mode();
      append(numbers, net(batch(5, 3, 50 + i)).array());
      append(numbers, net(batch(2, 3, 50 + i)).array());
    }
    append_all(numbers, net);
    return numbers;
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("static_graph: it is a link with the paths of its model") {
  auto graph = static_graph(Net(4, 2));
  Net plain(4, 2);
  std::vector<std::string> paths, expected;
  for (const auto& [path, parameter] : graph.namedparams()) paths.push_back(path);
  for (const auto& [path, parameter] : plain.namedparams()) expected.push_back(path);
  CHECK(paths == expected);
  auto classifier = L::classifier(static_graph(Net(4, 2)));
  CHECK(classifier.param("/predictor/l1/b").size() == 4);
  CHECK(graph.name() == "Net");
  Sequential layers(static_graph(L::Linear(3, 4)), F::relu, L::Linear(4, 2));
  for (int i = 0; i < 3; ++i) CHECK(layers(batch(2, 3, 1)).shape() == Shape{2, 2});
}

TEST_CASE("static_graph: parameters may get other arrays, numbers and shapes") {
  Net net(4, 2);
  auto graph = static_graph(net, options_with(false));
  const auto guard = using_config(&Config::train, false);
  const auto check = [&] {
    for (int i = 0; i < 3; ++i) {
      const Variable x(batch(3, 5, i));
      CHECK(graph(x).to_vector<float>() == net(x).to_vector<float>());
      for (const bool backprop : {false, true}) {
        const auto mode = using_config(&Config::enable_backprop, backprop);
        CHECK(graph(x).to_vector<float>() == net(x).to_vector<float>());
        if (!backprop) continue;
        net.cleargrads();
        F::sum(graph(x)).backward();
        const std::vector<float> of_graph = net.l1.W.grad().to_vector<float>();
        net.cleargrads();
        F::sum(net(x)).backward();
        CHECK(of_graph == net.l1.W.grad().to_vector<float>());
      }
    }
  };
  check();
  net.l1.W.set_array(uniform_like(net.l1.W.array(), 1));
  check();
  net.l1.W.array().copy_from(uniform_like(net.l1.W.array(), 2));
  check();
  net.bn.avg_mean = full({4}, 0.5, Dtype::float32);
  check();
  net.bn.avg_mean.copy_from(full({4}, 0.25, Dtype::float32));
  check();
  net.l2 = L::Linear(4, 3);
  check();
  net.l2.W = Parameter(uniform_like(net.l2.W.array(), 4));
  check();
  net.to(Dtype::float64);
  const Variable x(batch(3, 5, 0).astype(Dtype::float64));
  for (int i = 0; i < 3; ++i) CHECK(graph(x).to_vector<double>() == net(x).to_vector<double>());
}

TEST_CASE("static_graph: models move and are copied") {
  const auto guard = using_config(&Config::train, false);
  const Variable x(batch(3, 5, 0));
  Net net(4, 2);
  auto graph = static_graph(net);
  for (int i = 0; i < 3; ++i) graph(x);
  Net moved = std::move(net);
  for (int i = 0; i < 3; ++i) CHECK(graph(x).to_vector<float>() == moved(x).to_vector<float>());
  auto owner = static_graph(L::classifier(std::move(moved)));
  const Variable t(labels(3, 2, 0));
  CHECK(graph(x).to_vector<float>() == owner.model().predictor(x).to_vector<float>());
  const float loss = owner(x, t).item<float>();
  owner(x, t);
  auto second = owner;
  auto third = std::move(owner);
  for (int i = 0; i < 3; ++i) {
    CHECK(third(x, t).item<float>() == loss);
    CHECK(third.model().loss.item<float>() == loss);
    CHECK(second(x, t).item<float>() == loss);
  }
  second.model().predictor.l2.W.array().fill(0);
  for (int i = 0; i < 3; ++i) {
    CHECK(third(x, t).item<float>() == loss);
    CHECK(second(x, t).item<float>() == doctest::Approx(std::log(2.0)));
  }
}

TEST_CASE("static_graph: what the caller keeps stays") {
  auto graph = static_graph([](const Variable& x) { return F::tanh(x); });
  std::vector<Variable> kept;
  for (int i = 0; i < 5; ++i) kept.push_back(graph(full({4}, i, Dtype::float32)));
  for (int i = 0; i < 5; ++i) {
    CHECK(kept[static_cast<size_t>(i)].to_vector<float>() == F::tanh(full({4}, i, Dtype::float32)).to_vector<float>());
  }
}

TEST_CASE("static_graph: members, reports and side effects are those of a plain call") {
  int counted = 0;
  class Counting : public Chain {
   public:
    explicit Counting(int* count) : net{*this, "net", 4, 2}, count_{count} {}
    Variable operator()(const Variable& x) {
      static_code([count = count_] { ++*count; });
      return net(x);
    }
    Child<Net> net;

   private:
    int* count_;
  };
  auto model = static_graph(L::classifier(Counting(&counted)));
  Reporter reporter;
  reporter.add_observer("main", model.model());
  for (int i = 0; i < 4; ++i) {
    Observation observation;
    const auto scope = reporter.scope(observation);
    const Variable loss = model(batch(3, 5, i), labels(3, 2, i));
    CHECK(counted == i + 1);
    CHECK(observation.at("main/loss") == doctest::Approx(loss.item<float>()));
    CHECK(observation.contains("main/accuracy"));
    CHECK(is_same(loss, model.model().loss));
    model.cleargrads();
    if (i == 2) {
      CHECK_THROWS_WITH_AS(F::sum(model.model().y).backward(),
                           doctest::Contains("static_graph 'Classifier': backward reaches output 1"), StateError);
      continue;
    }
    model.model().loss.backward();
    CHECK(model.param("/predictor/net/l1/W").grad().is_defined());
  }
}

TEST_CASE("static_graph: graphs nest") {
  Net inner_net(4, 3);
  auto inner = static_graph(inner_net);
  auto outer = static_graph([&](const Variable& x) { return F::tanh(inner(x)) + inner(x); });
  const auto guard = using_config(&Config::train, false);
  for (int i = 0; i < 4; ++i) {
    const Variable x(batch(3, 5, i));
    inner_net.cleargrads();
    const Variable y = outer(x);
    F::sum(y).backward();
    const std::vector<float> gradient = inner_net.l1.W.grad().to_vector<float>();
    inner_net.cleargrads();
    const Variable z = F::tanh(inner_net(x)) + inner_net(x);
    CHECK(y.to_vector<float>() == z.to_vector<float>());
    F::sum(z).backward();
    CHECK(gradient == inner_net.l1.W.grad().to_vector<float>());
    CHECK(inner(x).shape() == Shape{3, 3});
  }
}

TEST_CASE("static_graph: hooks and profilers see the call") {
  class Names final : public FunctionHook {
   public:
    std::string forward, backward;
    void forward_postprocess(const FunctionNode& f, const ArrayRefs&, const Arrays&) override {
      forward += std::string(f.name()) + ' ';
    }
    void backward_postprocess(const FunctionNode& f, const Variables& gy, const Variables&) override {
      backward += std::string(f.name()) + ' ';
      append(seen, gy[0].array());
    }
    std::vector<float> seen;
  };
  class Ranges final : public profiler::RangeSink {
   public:
    std::string text;
    void push(const char* name) noexcept override { text += std::string(name) + ';'; }
    void pop() noexcept override {}
  };
  auto graph = static_graph([](const Variable& x) { return F::sum(F::tanh(x)); }, {.name = "squash"});
  {
    Names names;
    const ScopedFunctionHook scope(names);
    graph(Variable(full({3}, 1, Dtype::float32))).backward();
    CHECK(names.forward.starts_with("tanh sum static_graph "));
    CHECK(names.backward == "sum tanh static_graph ");
  }
  graph(Variable(full({3}, 1, Dtype::float32))).backward();
  Names names;
  Ranges ranges;
  {
    const ScopedFunctionHook scope(names);
    profiler::RangeSink* const before = profiler::set_range_sink(&ranges);
    graph(Variable(full({3}, 1, Dtype::float32))).backward();
    profiler::set_range_sink(before);
  }
  CHECK(names.forward == "static_graph ");
  CHECK(names.backward == "static_graph ");
  CHECK(ranges.text == "static_graph forward float32 (3,);squash;static_graph backward float32 ();squash;");
}

TEST_CASE("static_graph: it keeps no more memory than its arenas") {
#if !defined(__SANITIZE_ADDRESS__)  // whose builds do not use the pool that counts
  const int64_t before = memory::statistics().allocated;
  {
    auto graph = static_graph([](const Variable& x) { return F::sum(F::tanh(F::tanh(F::tanh(x)))); });
    int64_t after_first = 0;
    for (int i = 0; i < 6; ++i) {
      graph(Variable(full({1 << 18}, i, Dtype::float32))).backward();
      if (i == 1) after_first = memory::statistics().allocated;
    }
    // Threads report what they took and freed only now and then; a single array that stayed would be 1 MiB.
    CHECK(std::abs(memory::statistics().allocated - after_first) < 1 << 18);
    CHECK(after_first - before < 4 * (1 << 20) + (1 << 16));  // the inner two results and gradients of them
  }
  CHECK(memory::statistics().allocated - before < 1 << 19);
#endif
}

TEST_CASE("static_graph: recordings let go of what the model has let go") {
#if !defined(__SANITIZE_ADDRESS__)  // whose builds do not use the pool that counts
  const auto guard = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  L::Linear layer(1 << 9, 1 << 9);
  auto graph = static_graph(layer);
  for (const int64_t n : {1, 2}) {
    for (int i = 0; i < 3; ++i) graph(zeros({n, 1 << 9}));
  }
  const int64_t before = memory::statistics().allocated;
  layer.to(Dtype::float64);
  CHECK_THROWS(graph(zeros({1, 1 << 9})));  // of another dtype than the weights
  CHECK(memory::statistics().allocated - before < (1 << 18) * 4 + (1 << 16));
#endif
}

TEST_CASE("static_graph: recording and replaying need no more memory than define-by-run") {
#if !defined(__SANITIZE_ADDRESS__)
  const auto peak = [](bool use_static_graph, int steps) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    auto graph = static_graph([](const Variable& x) {
      Variable h = x;
      for (int i = 0; i < 10; ++i) h = F::tanh(h);
      return F::sum(h);
    });
    const Array x = zeros({1 << 18});
    memory::reset_max_allocated();
    const int64_t before = memory::statistics().allocated;
    for (int i = 0; i < steps; ++i) graph(Variable(x)).backward({.release_graph = true});
    return memory::statistics().max_allocated - before;
  };
  const int64_t plain = peak(false, 3);
  CHECK(peak(true, 1) <= plain + (1 << 16));
  CHECK(peak(true, 4) <= plain + (1 << 20) + (1 << 16));  // the gradient does not lie where the results lay
#endif
}

TEST_CASE("static_graph: autocast is part of the signature") {
  const auto run = [](bool use_static_graph) {
    const auto guard = using_config(&Config::use_static_graph, use_static_graph);
    random::seed(8);
    Net net(8, 4);
    auto graph = static_graph(net, options_with(false));
    std::vector<float> numbers;
    for (int i = 0; i < 6; ++i) {
      Variable loss;
      {
        std::optional<amp::Autocast> autocast;
        if (i % 2 == 1) autocast.emplace(amp::AutocastOptions{.dtype = Dtype::bfloat16});
        loss = F::sum(graph(batch(5, 3, i)));
      }
      net.cleargrads();
      loss.backward();
      append(numbers, loss.array());
      append(numbers, net.l1.W.grad());
    }
    return numbers;
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("static_graph: a thread of its own records and replays, and another one ends it") {
  std::optional<StaticGraph<L::Linear>> graph;
  std::thread([&] {
    graph.emplace(L::Linear(4, 2));
    for (int i = 0; i < 3; ++i) F::sum((*graph)(batch(3, 4, i))).backward();
  }).join();
  for (int i = 0; i < 3; ++i) F::sum((*graph)(batch(3, 4, i))).backward();
  CHECK(graph->param("/W").grad().is_defined());
  graph.reset();
}

TEST_CASE("static_graph: gradients may come in another order in memory, or not at all") {
  auto graph = static_graph([](const Variable& x) { return Variables(F::tanh(x), x * x); });
  for (int i = 0; i < 4; ++i) {
    Variable x(uniform_like(zeros({3, 4}), i)), z(x.array());
    const Variables y = graph(x), w(F::tanh(z), z * z);
    const auto loss = [&](const Variables& v) {
      if (i == 1) return F::sum(v[0] * v[0]);
      if (i == 2) return F::sum(v[0]) + F::sum(v[1]);
      return F::sum(v[0] * v[0]) + F::sum(v[1] * v[0]);
    };
    loss(y).backward();
    loss(w).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
  }
}

TEST_CASE("static_graph: it tells what it recorded") {
  auto graph = static_graph(Net(4, 2));
  const Variable y = graph(batch(3, 5, 0));
  CHECK(graph.summary().find("recorded when its backward comes") != std::string::npos);
  graph.clear();
  F::sum(graph(batch(3, 5, 0))).backward();
  CHECK(graph.summary().find("float32 (3, 5)") != std::string::npos);
  CHECK(graph.dot().find("digraph") != std::string::npos);
}

TEST_CASE("static_graph: few signatures are kept") {
  int calls = 0;
  auto graph = static_graph(
      [&](const Variable& x) {
        ++calls;
        return F::tanh(x);
      },
      {.max_signatures = 2, .minimize_cache_size = true});
  const auto call = [&](int64_t size) { graph(full({size}, 1, Dtype::float32)); };
  for (int round = 0; round < 3; ++round) {
    for (const int64_t size : {1, 2, 3}) call(size);
  }
  CHECK(calls == 2 + 3);
  {
    const auto guard = using_config(&Config::train, false);
    call(1);
    call(1);
  }
  CHECK(calls == 6);
  call(1);
  CHECK(calls == 7);
}

}  // namespace
}  // namespace kusari
