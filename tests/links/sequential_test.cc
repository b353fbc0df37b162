#include "kusari/framework/links/sequential.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/tests/links/models.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

Sequential make() {
  return Sequential(
      L::Linear(2, 3, {.initial_w = 1}), [](const Variable& x) { return functions::relu(x); },
      L::Linear(3, 1, {.initial_w = 2}));
}

TEST_CASE("Sequential calls its layers in turn and numbers the links alone") {
  Sequential model = make();
  CHECK(model.size() == 3);
  CHECK(paths(model) == Names{"/0/W", "/0/b", "/1/W", "/1/b"});
  // 2 * 3 * relu(1 + 2) and 2 * 3 * relu(1 - 2)
  const Variable y = model(Variable(array<float>({1, 2, 1, -2}, {2, 2})));
  CHECK(y.to_vector<double>() == std::vector<double>{18, 0});
  REQUIRE(model.get<L::Linear>(2) != nullptr);
  CHECK(model.get<L::Linear>(2)->W.shape() == Shape{1, 3});
  CHECK(model.get<L::Linear>(1) == nullptr);
  Sequential empty;
  CHECK_THROWS_AS(empty(Variable(ones({1, 2}))), StateError);
}

TEST_CASE("Sequential is a value") {
  Sequential model = make(), other(model);
  other.get<L::Linear>(0)->W.array().fill(7);
  CHECK(model.get<L::Linear>(0)->W.to_vector<double>()[0] == 1);
  const Variable weight = model.get<L::Linear>(0)->W;
  model = other;
  CHECK(is_same(weight, model.get<L::Linear>(0)->W));
  CHECK(weight.to_vector<double>()[0] == 7);
  const Sequential moved(std::move(model));
  CHECK(moved.size() == 3);

  Sequential outer(make(), L::Linear(1, 4));
  CHECK(paths(outer) == Names{"/0/0/W", "/0/0/b", "/0/1/W", "/0/1/b", "/1/W", "/1/b"});
  CHECK(outer(Variable(ones({5, 2}))).shape() == Shape{5, 4});
  outer.extend(make());
  CHECK(outer.size() == 5);
}

TEST_CASE("Sequential's layers can be edited") {
  Sequential model = make();
  model.insert(1, L::Linear(3, 3)).erase(3);
  CHECK(paths(model) == Names{"/0/W", "/0/b", "/1/W", "/1/b"});
  CHECK(model.get<L::Linear>(1)->W.shape() == Shape{3, 3});
  CHECK_THROWS_AS(model.erase(3), IndexError);
  CHECK_THROWS_AS(model.insert(4, L::Linear(3, 3)), IndexError);
  Sequential nested(make(), model);
  CHECK(nested.size() == 2);
  Sequential flat = nested.flatten();
  CHECK(flat.size() == 6);
  CHECK(paths(flat).size() == 8);
  CHECK((make() + model).size() == 6);
  model.clear();
  CHECK(model.params().empty());
}

TEST_CASE("a model as text") {
  Sequential model = make();
  CHECK(to_string(model) ==
        "Sequential(\n  (0): Linear(in_size=2, out_size=3, nobias=False),\n  (1): <callable>,\n"
        "  (2): Linear(in_size=3, out_size=1, nobias=False),\n)");
  TwoLayers layers;
  CHECK(to_string(layers) ==
        "TwoLayers(\n  (l1): Linear(in_size=None, out_size=3, nobias=False),\n"
        "  (l2): Linear(in_size=3, out_size=2, nobias=True),\n)");
  Everything deep;
  CHECK(to_string(deep) ==
        "Everything(\n  (body): TwoLayers(\n    (l1): Linear(in_size=2, out_size=3, nobias=False),\n"
        "    (l2): Linear(in_size=3, out_size=2, nobias=True),\n  ),\n)");
}

TEST_CASE("repeat") {
  const L::Linear linear(3, 3);
  Sequential fresh = repeat(linear, 3), copies = repeat(linear, 2, CopyMode::copy);
  CHECK(paths(fresh).size() == 6);
  CHECK(fresh.get<L::Linear>(0)->W.to_vector<float>() != fresh.get<L::Linear>(1)->W.to_vector<float>());
  CHECK(copies.get<L::Linear>(1)->W.to_vector<float>() == linear.W.to_vector<float>());
  CHECK(make().repeat(2).size() == 6);
}

TEST_CASE("AnyLink stands for the link it holds") {
  AnyLink any = L::Linear(2, 3);
  CHECK(paths(any) == Names{"/W", "/b"});
  REQUIRE(any.get<L::Linear>() != nullptr);
  CHECK(any.get<TwoLayers>() == nullptr);
  AnyLink other(any);
  other.get<L::Linear>()->b.array().fill(5);
  CHECK(any.get<L::Linear>()->b.to_vector<double>()[0] == 0);
  const Variable bias = any.get<L::Linear>()->b;
  any = other;
  CHECK(is_same(bias, any.get<L::Linear>()->b));
  CHECK(bias.to_vector<double>()[0] == 5);
  CHECK(any(Variable(ones({4, 2}))).shape() == Shape{4, 3});
  const Variable x(ones({4, 2}));
  CHECK_THROWS_WITH_AS(any(x, x), "the layer takes 1 variables, but the batch has 2", TypeError);
  any = AnyLink(TwoLayers(2));
  CHECK(paths(any) == Names{"/l1/W", "/l1/b", "/l2/W"});
  AnyLink nothing;
  CHECK(!nothing.has_value());
  CHECK_THROWS_AS(nothing(x), StateError);
}

class Stack : public Chain {
 public:
  explicit Stack(int n) : head{*this, "head", 3, 1}, layers{*this, "layers"} {
    for (int i = 0; i < n; ++i) layers.append(L::Linear(3, 3));
  }
  Variable operator()(Variable x) {
    for (L::Linear& layer : layers) x = layer(x);
    return head(x);
  }
  Child<L::Linear> head;
  Child<ChainList<L::Linear>> layers;
};

TEST_CASE("ChainList keeps children on the heap") {
  Stack model(11);
  const Names names = paths(model);
  REQUIRE(names.size() == 24);
  CHECK(names[0] == "/head/W");
  CHECK(names[4] == "/layers/1/W");
  CHECK(names[22] == "/layers/10/W");  // by number, not by text
  Stack other(model), moved(std::move(model));
  CHECK(paths(moved) == names);
  other.layers[0].b.array().fill(1);
  CHECK(moved.layers[0].b.to_vector<double>()[0] == 0);
  const Variable bias = moved.layers[0].b;
  moved = other;
  CHECK(is_same(bias, moved.layers[0].b));
  CHECK(bias.to_vector<double>()[0] == 1);
  CHECK(moved(Variable(ones({2, 3}))).shape() == Shape{2, 1});
  Stack shorter(1);
  shorter = other;
  CHECK(shorter.layers.size() == 11);
  CHECK(shorter.layers[10].W.to_vector<float>() == other.layers[10].W.to_vector<float>());

  shorter.layers.erase(1);
  shorter.layers.insert(0, L::Linear(3, 3, {.initial_w = 5}));
  CHECK(shorter.layers.size() == 11);
  CHECK(shorter.param("/layers/0/W").to_vector<double>()[0] == 5);
  CHECK_THROWS_AS(shorter.layers.erase(11), IndexError);
  shorter.layers.clear();
  CHECK(paths(shorter).size() == 2);

  ChainList<> mixed;
  mixed.append(L::Linear(2, 3));
  mixed.append(TwoLayers(3));
  CHECK(paths(mixed) == Names{"/0/W", "/0/b", "/1/l1/W", "/1/l1/b", "/1/l2/W"});
}

}  // namespace
}  // namespace kusari::testing
