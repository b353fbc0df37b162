#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

namespace F = kusari::functions;

namespace kusari {
namespace {

using namespace testing;
using doctest::Contains;

Variable ramp(int64_t n, double step) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(step * static_cast<double>(i + 1)));
  return Variable(array(numbers));
}

/// y = x; backward does whatever it is told to.
class Passing final : public FunctionNode {
 public:
  explicit Passing(std::function<void()> action) : action_{std::move(action)} {}
  const char* name() const override { return "passing"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
  Variables backward(const Variables& gy) override {
    action_();
    return {gy[0]};
  }
  std::function<void()> action_;
};

TEST_CASE("static_graph refuses what the host decides by numbers, or lets it run as it is") {
  const auto decides = [](const Variable& x) {
    const Variable y = F::tanh(x);
    return F::sum(y).item<float>() > 0 ? y : y * -1;
  };
  auto strict = static_graph(decides, {.name = "Deciding"});
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(strict(ramp(3, 1)), Contains("static_graph 'Deciding': Array::item"), StateError);
  }
  auto lenient = static_graph(decides, {.name = "Deciding", .fallback = true});
  for (int i = 0; i < 4; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    Variable x = ramp(3, sign), z = ramp(3, sign);
    const Variable y = lenient(x), w = decides(z);
    CHECK(y.to_vector<float>() == w.to_vector<float>());
    F::sum(y).backward();
    F::sum(w).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
  }
  CHECK(lenient.summary().find("define-by-run") != std::string::npos);
}

TEST_CASE("static_graph refuses the same in backward") {
  const Array number = full({1}, 2, Dtype::float32);
  const auto reads = [&](const Variable& x) { return apply<Passing>({x}, [&] { number.item<float>(); }); };
  auto strict = static_graph(reads, {.name = "Reading"});
  for (int i = 0; i < 2; ++i) {
    const Variable loss = F::sum(strict(ramp(3, 1)));
    CHECK_THROWS_WITH_AS(loss.backward(), Contains("static_graph 'Reading': Array::item inside F::passing"),
                         StateError);
    CHECK_THROWS_AS(loss.backward(), StateError);
  }
  auto lenient = static_graph(reads, {.fallback = true});
  for (int i = 0; i < 3; ++i) {
    const Variable x = ramp(3, 1);
    F::sum(lenient(x) * 3).backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{3, 3, 3});
  }
}

TEST_CASE("static_graph: exceptions while a call is recorded or replayed leave nothing half made") {
  enum class When { never, forward, backward, replay } when = When::never;
  int calls = 0;
  auto graph = static_graph([&](const Variable& x) {
    ++calls;
    const Variable y = apply<Passing>({F::tanh(x)}, [&] {
      if (when == When::backward) throw std::runtime_error("backward");
    });
    if (when == When::forward) throw std::runtime_error("forward");
    static_code([&] {
      if (when == When::replay) throw std::runtime_error("replay");
    });
    return y * 2;
  });
  const auto check = [&] {
    const Variable x = ramp(3, 0.5), z = ramp(3, 0.5);
    F::sum(graph(x)).backward();
    F::sum(F::tanh(z) * 2).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
  };
  for (int i = 0; i < 12; ++i) {
    when = When::forward;
    CHECK_THROWS_WITH(graph(ramp(3, 1)), "forward");
    when = When::backward;
    CHECK_THROWS_WITH(F::sum(graph(ramp(3, 1))).backward(), "backward");
  }
  CHECK(GraphCapture::current() == nullptr);
  when = When::never;
  calls = 0;
  for (int i = 0; i < 3; ++i) check();
  CHECK(calls == 1);
  when = When::replay;
  CHECK_THROWS_WITH(graph(ramp(3, 1)), "replay");
  when = When::never;
  for (int i = 0; i < 3; ++i) check();
  CHECK(calls == 1);
}

TEST_CASE("static_graph: backward goes through a call once") {
  auto graph = static_graph([](const Variable& x) { return F::sum(F::tanh(x)); }, {.name = "Once"});
  for (int i = 0; i < 3; ++i) {
    const Variable x = ramp(3, 1);
    const Variable loss = graph(x);
    CHECK_THROWS_WITH_AS(loss.backward({.enable_double_backprop = true}),
                         Contains("static_graph 'Once': gradients of gradients"), StateError);
    loss.backward();
    CHECK_THROWS_WITH_AS(loss.backward(), Contains("static_graph 'Once': backward again"), StateError);
  }
}

TEST_CASE("static_graph refuses to go backward inside the call") {
  Net net(4, 2);
  auto graph = static_graph(
      [&](const Variable& x) {
        const Variable loss = F::sum(net(x));
        loss.backward();
        return loss;
      },
      {.name = "Whole"});
  CHECK_THROWS_WITH_AS(graph(batch(3, 5, 0)), Contains("static_graph 'Whole': the call goes backward itself"),
                       StateError);
}

TEST_CASE("static_graph refuses a model that keeps state from call to call") {
  class Stateful : public Chain {
   public:
    Stateful() : cell{*this, "cell", 3, 4} {}
    Variable operator()(const Variable& x) {
      h = cell(x, h.is_defined() ? h : Variable(zeros({2, 4}), false));
      return h;
    }
    Variable h;
    Child<Cell> cell;
  };
  for (const bool train : {false, true}) {
    CAPTURE(train);
    const auto guard = using_config(&Config::enable_backprop, train);
    Stateful reference;
    Stateful model = copy(reference, CopyMode::copy);
    auto graph = static_graph(model);
    bool refused = false;
    for (int i = 0; i < 4 && !refused; ++i) {
      const Variable x(batch(2, 3, i));
      const Variable expected = reference(x);
      try {
        const Variable y = graph(x);
        CHECK(y.to_vector<float>() == expected.to_vector<float>());
        if (train) F::sum(y).backward();
      } catch (const StateError&) {
        refused = true;
      }
    }
    CHECK(refused);
  }
}

TEST_CASE("static_graph: what only the first call leaves behind is recorded without it") {
  Variable inner;
  auto graph = static_graph(
      [&](const Variable& x) {
        const Variable y = F::tanh(x);
        if (!inner.is_defined()) inner = y;
        return y * 2;
      },
      {.name = "Leaking"});
  const auto guard = no_backprop_mode();
  graph(ramp(3, 1));
  CHECK(inner.to_vector<float>() == F::tanh(ramp(3, 1)).to_vector<float>());
  graph(ramp(3, 2));
  graph(ramp(3, 3));
  graph(ramp(3, 4));
  CHECK(inner.to_vector<float>() == F::tanh(ramp(3, 1)).to_vector<float>());
}

TEST_CASE("static_graph: a result that the callable keeps says that it is old") {
  Variable last;
  auto graph = static_graph([&](const Variable& x) { return last = F::tanh(x); }, {.name = "Keeping"});
  const auto guard = no_backprop_mode();
  std::vector<Variable> given;
  for (int i = 0; i < 4; ++i) given.push_back(graph(ramp(3, i)));
  CHECK_THROWS_WITH_AS(last.to_vector<float>(), Contains("static graph 'Keeping'"), StateError);
  for (int i = 0; i < 4; ++i) {
    CHECK(given[static_cast<size_t>(i)].to_vector<float>() == F::tanh(ramp(3, i)).to_vector<float>());
  }
}

TEST_CASE("static_graph: recordings that come to nothing end") {
  int calls = 0;
  auto graph = static_graph([&](const Variable& x) {
    ++calls;
    return F::tanh(x);
  });
  for (int i = 0; i < 30; ++i) CHECK(graph(ramp(3, i)).shape() == Shape{3});
  CHECK(calls == 30);
  CHECK(graph.summary().find("define-by-run") != std::string::npos);
}

TEST_CASE("static_graph: arguments") {
  auto graph =
      static_graph([](const Variable& x, const Variable& y) { return y.is_defined() ? F::tanh(x) * y : F::tanh(x); },
                   {.name = "Two"});
  for (int i = 0; i < 3; ++i) {
    Variable x = ramp(3, 1), y = ramp(3, 2), z = ramp(3, 1);
    CHECK(graph(x, x).to_vector<float>() == (F::tanh(x) * x).to_vector<float>());
    CHECK(graph(x, y).to_vector<float>() == (F::tanh(x) * y).to_vector<float>());
    CHECK(graph(x, Variable()).to_vector<float>() == F::tanh(x).to_vector<float>());
    F::sum(graph(x, x)).backward();
    F::sum(F::tanh(z) * z).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
    // Rows of one array, at other places each time.
    const Array rows = batch(4, 3, i);
    CHECK(graph(rows.at(i), rows.at(3 - i)).to_vector<float>() ==
          (F::tanh(Variable(rows.at(i))) * rows.at(3 - i)).to_vector<float>());
  }
  const Parameter unknown(Shape{kInfer});
  CHECK_THROWS_WITH_AS(graph(unknown, Variable()), Contains("static_graph 'Two': argument 0 has no array"), StateError);
}

TEST_CASE("static_graph: arrays that the call reads from around it") {
  Array scale = full({3}, 2, Dtype::float32);
  auto graph = static_graph([&](const Variable& x) { return F::tanh(x) * scale; });
  const auto guard = no_backprop_mode();
  const auto check = [&] {
    for (int i = 0; i < 3; ++i) {
      const Variable x = ramp(3, i);
      CHECK(graph(x).to_vector<float>() == (F::tanh(x) * scale).to_vector<float>());
    }
  };
  check();
  scale.fill(3);
  check();
  scale = full({3}, 4, Dtype::float32);
  check();
  // Also where an argument shares memory with it.
  for (int i = 0; i < 3; ++i) {
    CHECK(graph(Variable(scale)).to_vector<float>() == (F::tanh(Variable(scale)) * scale).to_vector<float>());
    CHECK(graph(ramp(3, 2)).to_vector<float>() == (F::tanh(ramp(3, 2)) * scale).to_vector<float>());
  }
}

TEST_CASE("static_graph: an array that several recordings read, of one graph or more, is replaced") {
  Array scale = full({3}, 1, Dtype::float32);
  const auto function = [&](const Variable& x) { return F::tanh(x) * scale; };
  auto graph = static_graph(function), other = static_graph(function);
  const auto guard = no_backprop_mode();
  for (const double value : {2.0, 3.0, 4.0}) {
    scale = full({3}, value, Dtype::float32);
    for (int i = 0; i < 3; ++i) {
      for (const int64_t rows : {1, 2}) {
        const Variable x = F::reshape(ramp(3 * rows, i + 1), {rows, 3});
        const std::vector<float> expected = function(x).to_vector<float>();
        CHECK(graph(x).to_vector<float>() == expected);
        CHECK(other(x).to_vector<float>() == expected);
      }
    }
  }
  CHECK(graph.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("static_graph: a variable without gradient may get another array while somebody keeps the old one") {
  Variable weight(full({3}, 2, Dtype::float32), false);
  const auto function = [&](const Variable& x) { return F::tanh(x) * weight; };
  auto graph = static_graph(function);
  const Array first = weight.array();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      const Variable x = ramp(3, i), z = ramp(3, i);
      const Variable y = graph(x), expected = function(z);
      CHECK(y.to_vector<float>() == expected.to_vector<float>());
      F::sum(y).backward();
      F::sum(expected).backward();
      CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
    }
    weight.set_array(round == 0 ? full({3}, 5, Dtype::float32) : first);
  }
}

TEST_CASE("static_graph: an argument in memory that the call writes") {
  Array state = full({3}, 1, Dtype::float32);
  const auto function = [&](const Variable& x) {
    const Variable before = x * 2;
    state.copy_from((before + 1).array());
    const Variable after = x * 2;  // the same as `before` only if x is not the state
    return before + after * 10;
  };
  auto graph = static_graph(function);
  const auto guard = no_backprop_mode();
  for (int i = 0; i < 3; ++i) {
    graph(ramp(3, i));
    state.fill(1);
    const std::vector<float> expected = function(Variable(state)).to_vector<float>();
    state.fill(1);
    CHECK(graph(Variable(state)).to_vector<float>() == expected);
  }
}

TEST_CASE("static_graph: a backward from a result that none has come to before") {
  const auto function = [](const Variable& x) { return Variables(F::tanh(x), x * x); };
  auto graph = static_graph(function);
  for (int i = 0; i < 3; ++i) F::sum(graph(ramp(3, i))[0]).backward();
  const auto loss = [](const Variables& y) { return F::sum(y[0] + y[1]); };
  CHECK_THROWS_WITH_AS(loss(graph(ramp(3, 1))).backward(),
                       Contains("backward reaches output 1, which it did not when the call was recorded"), StateError);
  for (int i = 0; i < 3; ++i) {
    Variable x = ramp(3, i), z = ramp(3, i);
    loss(graph(x)).backward();
    loss(function(z)).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
  }
}

TEST_CASE("static_graph: a parameter that gets another array before backward comes") {
  Parameter weight(full({3}, 2, Dtype::float32));
  const auto function = [&](const Variable& x) { return F::tanh(x * weight); };
  auto graph = static_graph(function, {.name = "Swapped"});
  const auto gradient = [&](auto& callee, bool replaces) {
    weight.set_array(full({3}, 0.5, Dtype::float32));
    const Variable x = ramp(3, 1);
    const Variable y = F::sum(callee(x));
    if (replaces) {
      weight.set_array(full({3}, 4, Dtype::float32));
    } else {
      weight.array().fill(4);
    }
    y.backward();
    return x.grad().to_vector<float>();
  };
  CHECK(gradient(graph, true) == gradient(function, true));  // recorded, without its backward
  for (int i = 0; i < 3; ++i) CHECK(gradient(graph, false) == gradient(function, false));
  CHECK_THROWS_WITH_AS(gradient(graph, true), Contains("static_graph 'Swapped': a parameter got another array"),
                       StateError);
  for (int i = 0; i < 3; ++i) CHECK(gradient(graph, false) == gradient(function, false));
}

TEST_CASE("static_graph: an argument that gets another array before backward comes") {
  auto graph = static_graph([](const Variable& x) { return F::sum(x * x); }, {.name = "Swapped"});
  for (int i = 0; i < 3; ++i) {  // while it is recorded as well
    Variable x = ramp(3, 1);
    const Variable y = graph(x);
    x.set_array(full({3}, 4, Dtype::float32));
    CHECK_THROWS_WITH_AS(y.backward(), Contains("argument 0 got another array between the call and its backward"),
                         StateError);
    const Variable kept = ramp(3, 2);
    graph(kept).backward();
    CHECK(kept.grad().to_vector<float>() == (ramp(3, 2) * 2).to_vector<float>());
  }
}

TEST_CASE("static_graph: parameters that come and go") {
  std::optional<Parameter> weight(full({3}, 2, Dtype::float32));
  auto graph = static_graph([&](const Variable& x) { return F::sum(F::tanh(x) * *weight); });
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      const Variable x = ramp(3, i + 1);
      weight->cleargrad();
      const Variable loss = graph(x);
      CHECK(loss.item<float>() == F::sum(F::tanh(x) * *weight).item<float>());
      loss.backward();
      CHECK(weight->grad().to_vector<float>() == F::tanh(x).to_vector<float>());
    }
    weight.emplace(full({3}, 3 + round, Dtype::float32));
  }
}

TEST_CASE("static_graph refuses variables that were computed before the call") {
  const Variable x = ramp(3, 1);
  const Variable before = F::tanh(x);
  auto graph = static_graph([&](const Variable& v) { return v * before; });
  CHECK_THROWS_WITH_AS(graph(ramp(3, 1)), Contains("pass it as an argument"), StateError);
}

TEST_CASE("static_graph: the model is gone") {
  std::optional<Net> net(std::in_place, 4, 2);
  auto graph = static_graph(*net);
  const auto guard = using_config(&Config::train, false);
  const Variable y = graph(batch(3, 5, 0));
  net.reset();
  CHECK_THROWS_WITH_AS(graph(batch(3, 5, 0)), Contains("the model is gone"), StateError);
}

TEST_CASE("static_graph: reshapes, parameters and arguments as results") {
  Parameter weight(full({4}, 2, Dtype::float32));
  auto graph = static_graph([&](const Variable& x) {
    return Variables(x, F::reshape(x, {2, 2}), Variable(weight), F::reshape(weight, {2, 2}) * F::reshape(x, {2, 2}));
  });
  for (int i = 0; i < 4; ++i) {
    const Variable x = ramp(4, i + 1);
    weight.cleargrad();
    const Variables y = graph(x);
    CHECK(y[1].to_vector<float>() == x.to_vector<float>());
    CHECK(y[2].to_vector<float>() == weight.to_vector<float>());
    F::sum(y[0] * 2 + y[2] * 3 + F::reshape(y[1], {4}) + F::reshape(y[3], {4})).backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>(4, 2 + 1 + 2));
    std::vector<float> expected;
    for (const float v : x.to_vector<float>()) expected.push_back(3 + v);
    CHECK(weight.grad().to_vector<float>() == expected);
  }
}

TEST_CASE("static_graph: a leaf that the call makes gets its own gradient") {
  auto graph = static_graph([&](const Variable& x) { return Variables(x * 2, Variable((x * 3).array(), true)); });
  for (int i = 0; i < 4; ++i) {
    const Variable x = ramp(3, i + 1);
    const Variables y = graph(x);
    F::sum(y[0] * y[1]).backward();
    CHECK(y[1].grad().to_vector<float>() == (x * 2).to_vector<float>());
    CHECK(x.grad().to_vector<float>() == (x * 6).to_vector<float>());
  }
}

TEST_CASE("static_graph switched off by the environment" * doctest::skip()) {
  int calls = 0;
  auto graph = static_graph([&](const Variable& x) {
    ++calls;
    return F::tanh(x);
  });
  const auto guard = no_backprop_mode();
  for (int i = 0; i < 3; ++i) graph(ramp(3, 1));
  CHECK(calls == 3);
}

TEST_CASE("static_graph: KUSARI_STATIC_GRAPH=0 turns it off") {
  const auto status = [](const std::string& environment) {
    return std::system((environment + " /proc/$PPID/exe -ns -tc='static_graph switched off by the environment' "
                                      "> /dev/null")
                           .c_str());
  };
  CHECK(status("KUSARI_STATIC_GRAPH=0") == 0);
  CHECK(status("KUSARI_STATIC_GRAPH=off") == 0);
  CHECK(WEXITSTATUS(status("KUSARI_STATIC_GRAPH=perhaps")) == 1);  // an error that a test reports, and no abort
  CHECK(status("") != 0);
}

}  // namespace
}  // namespace kusari
