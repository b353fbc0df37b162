// Models that take the variables of a batch by name.

#include "kusari/framework/links/dict_variables.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/updaters/parallel_updater.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

namespace F = functions;
using datasets::DictDataset;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::ParallelUpdater;
using updaters::StandardUpdater;

/// (w x - t)^2 of the variables "x" and "t", whatever else comes and in whichever order.
class NamedLine : public Chain {
 public:
  NamedLine() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 0}} {}
  Variable operator()(const DictVariables& batch) {
    Variable loss = F::mean_squared_error(l(batch["x"]), batch["t"]);
    report({{"loss", loss}}, *this);
    return loss;
  }
  Child<L::Linear> l;
};

class DictLine : public Chain {
 public:
  DictLine() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 0}} {}
  Variable operator()(const Variable& x, const Variable& t) { return F::mean_squared_error(l(x), t); }
  Child<L::Linear> l;
};

const Array kX = array({1.0f, 2.0f, 3.0f, 4.0f}, {4, 1}), kT = array({2.0f, 4.0f, 6.0f, 8.0f}, {4, 1});

/// The label first, and a component that nobody wants.
DictDataset dict_points() { return DictDataset({{"t", kT}, {"weight", ones({4})}, {"x", kX}}); }

/// One step of SGD from 0 on all points: w = lr * mean(2 x 2 x).
constexpr float kAfterOneStep = 0.01f * 2 * 2 * (1 + 4 + 9 + 16) / 4;

template <class Model>
void check_step(Model& model, StandardUpdater& updater) {
  updater.update();
  CHECK(model.l.W.template item<float>() == doctest::Approx(kAfterOneStep));
}

}  // namespace

TEST_CASE("DictVariables") {
  const Variable x(ones({2})), t(zeros({3}));
  const DictVariables both{{"x", x}, {"t", t}};
  CHECK(both.size() == 2);
  CHECK(both["t"].shape() == Shape{3});
  CHECK(both.contains("x"));
  CHECK_FALSE(both.contains("y"));
  CHECK(both.without("x").values().size() == 1);
  CHECK(both.without("x")["t"].shape() == Shape{3});
  CHECK(both.values()[0].shape() == Shape{2});
  std::string names;
  for (const auto& [name, variable] : both) names += name;
  CHECK(names == "xt");
  CHECK_THROWS_WITH_AS(both["y"], "DictVariables: there is no key 'y', only 'x' 't'", KeyError);
  CHECK_THROWS_AS(both.without("y"), KeyError);
  CHECK_THROWS_WITH_AS((DictVariables{{"x", x}, {"x", t}}), "DictVariables: the key 'x' comes twice", ValueError);
  const std::vector<std::string> keys = {"x", "t"};
  const std::vector<Variable> variables = {x};
  CHECK_THROWS_WITH_AS(DictVariables(std::vector<std::string>(), variables),
                       "DictVariables: there are 1 variables for the 0 keys", ValueError);
  CHECK_THROWS_WITH_AS(DictVariables(keys, variables), "DictVariables: there are 1 variables for the 2 keys 'x', 't'",
                       ValueError);
}

TEST_CASE("StandardUpdater calls a model by name, or a loss function") {
  for (const bool static_graph : {false, true}) {
    CAPTURE(static_graph);
    NamedLine model;
    optimizers::SGD optimizer(0.01);
    optimizer.setup(model);
    StandardUpdater updater(SerialIterator(dict_points(), 4), optimizer, {.static_graph = static_graph});
    check_step(model, updater);
  }
  DictLine model;
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  StandardUpdater updater(
      iterators::MultithreadIterator(dict_points(), 4, {.n_threads = 2}), optimizer,
      {.loss_func = [&](const DictVariables& batch) { return model(batch["x"], batch["t"]); }, .prefetch = 1});
  check_step(model, updater);
  updater.finalize();
}

TEST_CASE("a model without names gets the components in their order") {
  DictLine model;
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  StandardUpdater updater(SerialIterator(DictDataset({{"x", kX}, {"t", kT}}), 4), optimizer);
  check_step(model, updater);

  DictLine other;
  optimizers::SGD other_optimizer(0.01);
  other_optimizer.setup(other);
  StandardUpdater failing(SerialIterator(dict_points(), 4), other_optimizer);
  CHECK_THROWS_WITH_AS(failing.update(), "the model takes 2 variables, but the batch has 3", TypeError);
}

TEST_CASE("a model with names needs a data set with keys") {
  NamedLine model;
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  StandardUpdater updater(SerialIterator(TupleDataset(kX, kT), 4), optimizer);
  CHECK_THROWS_WITH_AS(updater.update(),
                       "the model takes variables with names (DictVariables), but the batch has 2 without names: give "
                       "its data set keys, with a DictDataset",
                       TypeError);
  // A converter that gives other components than there are keys.
  optimizers::SGD other_optimizer(0.01);
  other_optimizer.setup(model);
  StandardUpdater failing(
      SerialIterator(DictDataset({{"x", kX}, {"t", kT}}), 4), other_optimizer,
      {.converter = [](std::span<const datasets::Example>, const Device&) { return datasets::Example{kX}; }});
  CHECK_THROWS_WITH_AS(failing.update(), "DictVariables: there are 1 variables for the 2 keys 'x', 't'", ValueError);
}

TEST_CASE("update_core of one's own takes variables by name") {
  class Own : public StandardUpdater {
   public:
    using StandardUpdater::StandardUpdater;

   protected:
    void update_core() override {
      const DictVariables batch = next_named_inputs();
      CHECK(batch.size() == 3);
      get_optimizer("main").update([&] { return static_cast<NamedLine&>(get_optimizer("main").target())(batch); });
    }
  };
  NamedLine model;
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  Own updater(SerialIterator(dict_points(), 4), optimizer);
  check_step(model, updater);
}

TEST_CASE("ParallelUpdater calls its replicas by name") {
  for (const bool with_function : {false, true}) {
    CAPTURE(with_function);
    NamedLine model;
    optimizers::SGD optimizer(0.01);
    optimizer.setup(model);
    updaters::ParallelUpdaterOptions options{
        .model = model, .devices = {{"main", Device()}, {"second", Device()}}, .average = true};
    if (with_function) {
      options.loss_func = [](NamedLine& line, const DictVariables& batch) { return line(batch); };
    }
    ParallelUpdater updater(SerialIterator(dict_points(), 4), optimizer, options);
    check_step(model, updater);
    updater.finalize();
  }
}

TEST_CASE("Evaluator calls a model by name, or its function") {
  NamedLine model;
  const auto iterator = [] { return SerialIterator(dict_points(), 4, {.repeat = false, .shuffle = false}); };
  training::extensions::Evaluator evaluator(iterator(), model);
  CHECK(evaluator().at(0).second == doctest::Approx((4.0 + 16 + 36 + 64) / 4));
  double weight = 0;
  training::extensions::Evaluator other(iterator(), model, {.eval_func = [&](const DictVariables& batch) {
                                          weight = F::sum(batch["weight"]).item<double>();
                                          return batch["weight"];
                                        }});
  other();
  CHECK(weight == 4);
}

namespace {

/// Scores of two classes: a - b and b - a.
class Difference : public Chain {
 public:
  Variable operator()(const Variable& a, const Variable& b) { return a - b; }
};
class NamedDifference : public Chain {
 public:
  Variable operator()(const DictVariables& x) {
    CHECK(x.size() == 2);
    return x["a"] - x["b"];
  }
};

}  // namespace

TEST_CASE("Classifier takes its target by place or by key") {
  const Variable a(array({1.0f, 2.0f}, {2})), b(array({0.5f, 1.0f}, {2})), t(array({0.5f, 2.0f}, {2}));
  const auto lossfun = [](const Variable& y, const Variable& target) { return F::sum(y - target); };
  const double expected = (1 - 0.5 - 0.5) + (2 - 1 - 2);
  const L::ClassifierOptions by_default{.lossfun = lossfun, .compute_accuracy = false};
  const auto options = [&](std::variant<int, std::string> key) {
    L::ClassifierOptions result = by_default;
    result.label_key = std::move(key);
    return result;
  };
  CHECK(L::Classifier<Difference>(Difference(), by_default)(a, b, t).item<double>() == expected);
  CHECK(L::Classifier<Difference>(Difference(), options(0))(t, a, b).item<double>() == expected);
  CHECK(L::Classifier<Difference>(Difference(), options(-2))(a, t, b).item<double>() == expected);
  CHECK_THROWS_WITH_AS(L::Classifier<Difference>(Difference(), options(3))(a, b, t),
                       "Classifier: label_key is 3, but there are 3 variables: it must be -3 .. 2", ValueError);
  CHECK_THROWS_WITH_AS(L::Classifier<Difference>(Difference(), options("t"))(a, b, t),
                       "Classifier: label_key is 't', but the variables have no names: give a DictDataset", ValueError);

  const DictVariables named{{"a", a}, {"t", t}, {"b", b}};
  CHECK(L::Classifier<Difference>(Difference(), options("t"))(named).item<double>() == expected);
  CHECK(L::Classifier<Difference>(Difference(), options(1))(named).item<double>() == expected);
  CHECK(L::Classifier<NamedDifference>(NamedDifference(), options("t"))(named).item<double>() == expected);
  CHECK(L::Classifier<NamedDifference>(NamedDifference(), options(-2))(named).item<double>() == expected);
  CHECK_THROWS_WITH_AS(L::Classifier<Difference>(Difference(), options("label"))(named),
                       "Classifier: label_key is 'label', but the variables are 'a' 't' 'b'", ValueError);
  CHECK_THROWS_WITH_AS(L::Classifier<Difference>(Difference(), options("t"))(DictVariables{{"a", a}, {"t", t}}),
                       "the predictor takes 2 variables, but the batch has 1", TypeError);

  // A classifier in a training: both calls are there, the data set decides.
  auto model = L::classifier(NamedDifference(), options("t"));
  training::extensions::Evaluator evaluator(
      SerialIterator(DictDataset({{"t", t.array()}, {"b", b.array()}, {"a", a.array()}}), 2,
                     {.repeat = false, .shuffle = false}),
      model);
  CHECK(evaluator().at(0).second == doctest::Approx(expected));
}

}  // namespace kusari::testing
