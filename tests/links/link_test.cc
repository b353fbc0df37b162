#include "kusari/framework/links/link.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/tests/links/models.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("paths of parameters: own before the children's, sorted by name") {
  Everything model;
  CHECK(paths(model) == Names{"/a", "/w", "/body/l1/W", "/body/l1/b", "/body/l2/W"});
  std::vector<Parameter*> parameters = model.params();
  REQUIRE(parameters.size() == 5);
  CHECK(parameters[0] == &model.a);
  CHECK(parameters[1] == &model.w);
  CHECK(parameters[4] == &model.body.l2.W);
  CHECK(model.w.name() == "w");

  Names links;
  for (const auto& [path, link] : model.namedlinks()) links.push_back(path);
  CHECK(links == Names{"/", "/body", "/body/l1", "/body/l2"});
  CHECK(model.namedlinks(true).size() == 3);
  CHECK(model.links().front() == &model);
  CHECK(model.children() == std::vector<Link*>{&model.body});
  CHECK(model.count_params() == 4 + 3 + 6 + 3 + 6);
  CHECK(&model.param("/body/l1/b") == &model.body.l1.b);
  CHECK_THROWS_WITH_AS(model.param("/b"),
                       "Link::param: no parameter /b; there are /a /w /body/l1/W /body/l1/b /body/l2/W", KeyError);
}

TEST_CASE("a parameter without a shape is listed on demand and not counted") {
  TwoLayers model;
  CHECK(paths(model) == Names{"/l1/W", "/l1/b", "/l2/W"});
  CHECK(model.params(false).size() == 2);
  CHECK(model.namedparams(false)[0].first == "/l1/b");
  CHECK(model.count_params() == 3 + 6);
  model(Variable(ones({4, 5})));
  CHECK(model.params(false).size() == 3);
  CHECK(model.l1.W.shape() == Shape{3, 5});
}

TEST_CASE("copy construction gives an independent model") {
  Everything model;
  model.w.set_grad(ones({2, 2}));
  Everything other(model);
  CHECK(paths(other) == paths(model));
  CHECK(other.params()[0] == &other.a);
  CHECK(!is_same(other.w, model.w));
  other.w.array().fill(9);
  other.mean.fill(4);
  other.count = 8;
  CHECK(model.w.to_vector<double>() == std::vector<double>(4, 1.5));
  CHECK(model.mean.to_vector<double>() == std::vector<double>(2, 0));
  CHECK(model.count == 7);
  CHECK(other.count == 8);
  CHECK(!other.w.grad().is_defined());
  CHECK(other.body.l1.W.to_vector<float>() == model.body.l1.W.to_vector<float>());
}

TEST_CASE("copy assignment writes in place and keeps the parameters") {
  Everything model, target;
  model.w.array().fill(3);
  model.mean.fill(2);
  model.count = 11;
  const Variable kept = target.w;
  const Array elements = target.w.array(), mean = target.mean;
  const void* const home = target.home()->find();
  target = model;
  CHECK(is_same(kept, target.w));
  CHECK(elements.to_vector<double>() == std::vector<double>(4, 3));
  CHECK(mean.to_vector<double>() == std::vector<double>(2, 2));
  CHECK(target.count == 11);
  CHECK(target.home()->find() == home);
  CHECK(target.body.l1.W.to_vector<float>() == model.body.l1.W.to_vector<float>());
  model.w.array().fill(5);
  CHECK(elements.to_vector<double>() == std::vector<double>(4, 3));

  TwoLayers deferred, ready(5);
  const Variable weight = deferred.l1.W;
  deferred = ready;
  CHECK(is_same(weight, deferred.l1.W));
  CHECK(deferred.l1.W.shape() == Shape{3, 5});
  CHECK(deferred.l1.W.to_vector<float>() == ready.l1.W.to_vector<float>());
  L::Linear with(2, 3), without(2, 3, {.nobias = true});
  with = without;
  CHECK(paths(with) == Names{"/W"});
  CHECK(!with.b.is_defined());
  without = L::Linear(2, 3);
  CHECK(paths(without) == Names{"/W", "/b"});
}

TEST_CASE("moving keeps parameters, and the home follows") {
  static_assert(std::is_nothrow_move_constructible_v<Everything>);
  static_assert(std::is_nothrow_move_assignable_v<Everything>);
  Everything model;
  const IntrusivePtr<Home> home = model.home();
  const Variable weight = model.body.l1.W;
  Everything moved(std::move(model));
  CHECK(is_same(weight, moved.body.l1.W));
  CHECK(&home->get() == &moved);
  CHECK(paths(moved).size() == 5);
  CHECK_THROWS_AS(model.params(), StateError);

  Everything replaced;
  const IntrusivePtr<Home> old = replaced.home();
  replaced = std::move(moved);
  CHECK(is_same(weight, replaced.body.l1.W));
  CHECK(&home->get() == &replaced);
  CHECK(old->find() == nullptr);
  CHECK_THROWS_AS(old->get(), StateError);

  IntrusivePtr<Home> last;
  {
    Everything inner;
    last = inner.home();
  }
  CHECK(last->find() == nullptr);
}

TwoLayers make_model() {
  TwoLayers model(2);
  model.l1.W.array().fill(0.5);
  return model;
}

TEST_CASE("models in vectors, optionals and returned from functions") {
  std::vector<TwoLayers> models;
  std::vector<Variable> weights;
  std::vector<IntrusivePtr<Home>> homes;
  for (int i = 0; i < 5; ++i) {
    models.push_back(make_model());
    weights.push_back(models.back().l1.W);
    homes.push_back(models.back().home());
  }
  for (size_t i = 0; i < models.size(); ++i) {
    CHECK(is_same(weights[i], models[i].l1.W));
    CHECK(&homes[i]->get() == &models[i]);
    CHECK(models[i].params()[0] == &models[i].l1.W);
  }
  models.erase(models.begin());
  CHECK(homes[0]->find() == nullptr);
  CHECK(&homes[1]->get() == &models[0]);

  std::optional<TwoLayers> maybe;
  maybe.emplace(make_model());
  CHECK(maybe->params()[0] == &maybe->l1.W);
  maybe = models[1];
  CHECK(maybe->l1.W.to_vector<float>() == models[1].l1.W.to_vector<float>());
}

class Outside : public Chain {
 public:
  Outside() : child{std::make_unique<Child<L::Linear>>(*this, "child", 2, 3)} {}
  std::unique_ptr<Child<L::Linear>> child;
};

class Twice : public Chain {
 public:
  Twice() : a{*this, "a", {2}, 0}, b{*this, "a", {2}, 0} {}
  Parameter a, b;
};

class BadName : public Chain {
 public:
  BadName() : a{*this, "l1/a", {2}, 0} {}
  Parameter a;
};

class Base : public Chain {
 public:
  Base() : a{*this, "a", {2}, 0} {}
  Parameter a;
};

class Derived : public Base {
 public:
  Derived() : b{*this, "b", {2}, 0} {}
  Parameter b;
};

TEST_CASE("misuse is refused") {
  CHECK_THROWS_WITH_AS(Outside(),
                       "'child' does not lie inside the link it registers with: only a data member of the link may; "
                       "links on the heap go into a ChainList or an AnyLink",
                       StateError);
  CHECK_THROWS_WITH_AS(Twice(), "Link: there is already a member named 'a'", ValueError);
  CHECK_THROWS_AS(BadName(), ValueError);
  Derived derived;
  CHECK(paths(derived) == Names{"/a", "/b"});
  Base sliced = derived;
  CHECK_THROWS_AS(sliced.params(), StateError);
  Base assigned;
  assigned = derived;
  CHECK(paths(assigned) == Names{"/a"});
  // A class that adds nothing, or adds members to a copy, is no slice.
  struct Widened : Base {
    explicit Widened(const Base& base) : Base(base) {}
  } widened{Base()};
  CHECK(paths(widened) == Names{"/a"});
}

TEST_CASE("the copy modes of Chainer") {
  TwoLayers model(2);
  TwoLayers shared = copy(model, CopyMode::share), own = copy(model, CopyMode::copy),
            fresh = copy(model, CopyMode::init);
  CHECK(shared.l1.W.array().is_same(model.l1.W.array()));
  CHECK(!is_same(shared.l1.W, model.l1.W));
  CHECK(!own.l1.W.array().is_same(model.l1.W.array()));
  CHECK(own.l1.W.to_vector<float>() == model.l1.W.to_vector<float>());
  CHECK(fresh.l1.W.shape() == model.l1.W.shape());
  CHECK(fresh.l1.W.to_vector<float>() != model.l1.W.to_vector<float>());
  CHECK(fresh.l1.b.to_vector<float>() == std::vector<float>(3, 0.f));
}

TEST_CASE("gradients: cleared, added, copied values") {
  TwoLayers model(2), other(2);
  for (Parameter* p : model.params()) CHECK(std::isnan(p->grad().to_vector<double>()[0]));
  model.cleargrads();
  for (Parameter* p : model.params()) CHECK(!p->grad().is_defined());
  other.cleargrads();
  other.l1.b.set_grad(array<float>({1, 2, 3}));
  model.l1.b.set_grad(array<float>({10, 20, 30}));
  model.addgrads(other);
  CHECK(model.l1.b.grad().to_vector<double>() == std::vector<double>{11, 22, 33});
  CHECK(!model.l1.W.grad().is_defined());
  model.copyparams(other);
  CHECK(model.l2.W.to_vector<float>() == other.l2.W.to_vector<float>());
  L::Linear linear(2, 3);
  CHECK_THROWS_AS(model.copyparams(linear), KeyError);
  TwoLayers deferred;
  deferred.copyparams(model);
  CHECK(deferred.l1.W.shape() == Shape{3, 2});
}

TEST_CASE("a seed gives the same model") {
  random::seed(5);
  TwoLayers first(4), other(4);
  random::seed(5);
  TwoLayers second(4);
  CHECK(first.l1.W.to_vector<float>() == second.l1.W.to_vector<float>());
  CHECK(first.l2.W.to_vector<float>() == second.l2.W.to_vector<float>());
  CHECK(first.l1.W.to_vector<float>() != other.l1.W.to_vector<float>());
}

TEST_CASE("members that exist only sometimes") {
  L::Linear linear(3, 2, {.nobias = true});
  CHECK(paths(linear) == Names{"/W"});
  CHECK(!linear.b.is_defined());
  CHECK(linear(Variable(ones({1, 3}))).shape() == Shape{1, 2});
}

}  // namespace
}  // namespace kusari::testing
