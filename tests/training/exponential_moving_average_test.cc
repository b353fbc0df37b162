#include "kusari/framework/training/extensions/exponential_moving_average.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/picture_report.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/test_device.h"
#include "kusari/tests/training/fake_updater.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using extensions::ExponentialMovingAverage;
using testing::FakeUpdater;
using testing::ScratchDirectory;
namespace L = kusari::links;

namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Array& array) { return array.to_vector<double>(); }

void set(const Parameter& parameter, double value) { parameter.array().fill(value); }

/// A regression with running statistics.
class AveragedNet : public Chain {
 public:
  AveragedNet() : l1{*this, "l1", 4, 8}, bn{*this, "bn", 8}, l2{*this, "l2", 8, 1} {}
  Variable operator()(const Variable& x, const Variable& t) {
    return functions::mean_squared_error(l2(functions::relu(bn(l1(x)))), t);
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;
};

datasets::TupleDataset regression() {
  std::vector<float> x(64 * 4), t(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.7F * static_cast<float>(i * i % 101));
  for (size_t i = 0; i < t.size(); ++i) t[i] = x[4 * i] - 2 * x[4 * i + 1];
  return datasets::TupleDataset(array(x, {64, 4}), array(t, {64, 1}));
}

}  // namespace

TEST_CASE("ExponentialMovingAverage follows its formula") {
  for (const bool warmup : {false, true}) {
    CAPTURE(warmup);
    L::Linear model(2, 1);
    ExponentialMovingAverage average(model, {.decay = 0.6, .warmup = warmup});
    double expected = 0;
    for (int t = 0; t < 20; ++t) {
      const double value = std::sin(t);
      set(model.W, value);
      average.update();
      const double d = warmup ? std::min(0.6, (1.0 + t) / (10.0 + t)) : 0.6;
      expected = t == 0 ? value : d * expected + (1 - d) * value;
      for (const double number : numbers(average.average("/W")))
        CHECK(number == doctest::Approx(expected).epsilon(1e-6));
    }
    CHECK(average.t() == 20);
    CHECK(numbers(average.average("/b")) == Numbers{0});
  }
  L::Linear model(2, 1);
  CHECK_THROWS_WITH_AS(ExponentialMovingAverage(model, {.decay = 1}),
                       "ExponentialMovingAverage: decay is 1: it must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(ExponentialMovingAverage(model).average("/l9/W"),
                       "ExponentialMovingAverage::average: there is none of '/l9/W'", KeyError);
}

TEST_CASE("ExponentialMovingAverage: small steps of 16-bit parameters are not lost") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float64}) {
    CAPTURE(name(dtype));
    const auto policy = using_config(&Config::dtype, DtypePolicy(dtype));
    L::Linear model(3, 2);
    ExponentialMovingAverage average(model, {.decay = 0.999, .warmup = false});
    set(model.W, 1);
    average.update();
    set(model.W, 2);
    for (int t = 0; t < 100; ++t) average.update();
    // A 16-bit average would stay at 1: a step of it is 0.001.
    CHECK(average.average("/W").dtype() == (dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32));
    CHECK(numbers(average.average("/W"))[5] == doctest::Approx(2 - std::pow(0.999, 100)).epsilon(1e-5));
  }
}

TEST_CASE("ExponentialMovingAverage averages the float32 copies of 16-bit parameters") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(Dtype::bfloat16));
  L::Linear model(1, 1, {.nobias = true});
  optimizers::MomentumSGD optimizer(1e-3, 0);
  optimizer.setup(model).use_fp32_update();
  set(model.W, 1);
  ExponentialMovingAverage average(model, {.decay = 0, .warmup = false});
  for (int t = 0; t < 2; ++t) {
    model.W.set_grad(full({1, 1}, 1, Dtype::bfloat16));
    optimizer.update();
    average.update();
  }
  // bfloat16 has steps of 0.0039 below 1.
  CHECK(numbers(average.average("/W"))[0] == doctest::Approx(0.998).epsilon(1e-6));
  // Testing does not disturb the copies.
  { const auto applied = average.apply(); }
  model.W.set_grad(full({1, 1}, 1, Dtype::bfloat16));
  optimizer.update();
  CHECK(numbers(model.W.update_rule().state("fp32_param"))[0] == doctest::Approx(0.997).epsilon(1e-6));
}

TEST_CASE("ExponentialMovingAverage::apply lends the model the averages") {
  L::BatchNormalization model(2);
  ExponentialMovingAverage average(model, {.decay = 0.5, .warmup = false});
  CHECK(numbers(model.gamma.array()) == Numbers{1, 1});
  { const auto nothing_yet = average.apply(); }
  CHECK(numbers(model.gamma.array()) == Numbers{1, 1});
  average.update();
  set(model.gamma, 3);
  model.avg_mean.fill(4);
  average.update();
  const auto* const memory = model.gamma.array().raw_data();
  {
    const auto applied = average.apply();
    CHECK(numbers(model.gamma.array()) == Numbers{2, 2});
    CHECK(numbers(model.avg_mean) == Numbers{2, 2});  // running statistics too
    CHECK(model.gamma.array().raw_data() == memory);
    CHECK_THROWS_AS(average.update(), StateError);
    CHECK_THROWS_AS(static_cast<void>(average.apply()), StateError);
  }
  CHECK(numbers(model.gamma.array()) == Numbers{3, 3});
  CHECK(numbers(model.avg_mean) == Numbers{4, 4});

  ExponentialMovingAverage parameters(model, {.decay = 0.5, .persistents = false});
  parameters.update();
  CHECK_THROWS_AS(parameters.average("/avg_mean"), KeyError);

  L::BatchNormalization other(2);
  average.copy_to(other);
  CHECK(numbers(other.gamma.array()) == Numbers{2, 2});
  L::Linear unlike(2, 2);
  CHECK_THROWS_WITH_AS(average.copy_to(unlike),
                       "ExponentialMovingAverage::copy_to: the link has no array of numbers '/avg_mean'", KeyError);
  L::BatchNormalization larger(3);
  CHECK_THROWS_AS(average.copy_to(larger), TypeError);
}

TEST_CASE("ExponentialMovingAverage: parameters that get a shape, another one, or another place") {
  L::Linear model(kInfer, 2);
  ExponentialMovingAverage average(model, {.decay = 0.5, .warmup = false});
  average.update();
  CHECK_THROWS_AS(average.average("/W"), KeyError);
  model(Variable(zeros({1, 3})));
  set(model.W, 2);
  average.update();
  CHECK(numbers(average.average("/W")) == Numbers(6, 2));
  model.cleargrads();
  model.W.set_array(full({2, 1}, 5, Dtype::float32));
  average.update();
  CHECK(numbers(average.average("/W")) == Numbers(2, 5));
  L::Linear moved(std::move(model));
  set(moved.W, 7);
  average.update();
  CHECK(numbers(average.average("/W")) == Numbers(2, 6));
  // Another order in memory.
  moved.cleargrads();
  moved.W.set_array(array<float>({8, 10}, {1, 2}).transpose());
  average.update();
  CHECK(numbers(average.average("/W")) == Numbers{7, 8});
  moved.to(testing::test_device());
  average.update();
  CHECK(average.average("/W").device() == testing::test_device());
  CHECK(numbers(average.average("/W")) == Numbers{7.5, 9});
}

TEST_CASE(
    "ExponentialMovingAverage in training: evaluators and snapshots with averages, static graphs, autocast, resume") {
  const auto data = regression();
  struct Way {
    bool static_graph, autocast;
    Dtype dtype;
  };
  for (const Way& way : {Way{false, false, Dtype::float32},
                         {true, false, Dtype::float32},
                         {false, true, Dtype::float32},
                         {true, false, Dtype::bfloat16}}) {
    CAPTURE(way.static_graph);
    CAPTURE(way.autocast);
    const auto policy = using_config(&Config::dtype, DtypePolicy(way.dtype));
    const auto run = [&](int64_t iterations, const ScratchDirectory& dir, const std::string& resume, auto check) {
      random::seed(3);
      AveragedNet model;
      optimizers::MomentumSGD optimizer(0.05);
      optimizer.setup(model);
      if (way.dtype != Dtype::float32) optimizer.use_fp32_update();
      if (way.autocast) {
        optimizer.set_forward_scope(
            [] { return std::make_shared<amp::Autocast>(amp::AutocastOptions{.dtype = Dtype::bfloat16}); });
      }
      ExponentialMovingAverage average(model, {.decay = 0.9});
      updaters::StandardUpdater updater(iterators::SerialIterator(data, 16), optimizer,
                                        {.static_graph = way.static_graph});
      training::Trainer trainer(updater, {iterations, "iteration"}, dir.path());
      const auto test = [&] { return iterators::SerialIterator(data, 64, {.repeat = false, .shuffle = false}); };
      trainer.extend(average);
      trainer.extend(extensions::with_average(average, extensions::Evaluator(test(), model)),
                     {.trigger = {5, "iteration"}});
      trainer.extend(extensions::with_average(average, extensions::snapshot_object(model, "averaged")),
                     {.trigger = {5, "iteration"}});
      trainer.extend(extensions::snapshot(), {.trigger = {5, "iteration"}});
      if (!resume.empty()) serializers::load_npz(resume, trainer);
      trainer.run();
      check(model, average);
    };
    const ScratchDirectory whole, half;
    Numbers expected;
    run(10, whole, "", [&](AveragedNet& model, ExponentialMovingAverage& average) {
      CHECK(average.t() == 10);
      expected = numbers(average.average("/l1/W"));
      AveragedNet saved;
      serializers::load_npz(whole / "averaged", saved);
      for (const auto& [path, parameter] : saved.namedparams()) {
        const Numbers rounded = numbers(average.average(path).astype(way.dtype));
        CHECK(numbers(parameter->array()) == rounded);
      }
      CHECK(numbers(saved.bn.avg_mean) == numbers(average.average("/bn/avg_mean").astype(saved.bn.avg_mean.dtype())));
      CHECK(numbers(saved.l1.W.array()) != numbers(model.l1.W.array()));
    });
    run(5, half, "", [](auto&, auto&) {});
    run(10, half, half / "snapshot_iter_5", [&](auto&, ExponentialMovingAverage& average) {
      CHECK(average.t() == 10);
      CHECK(numbers(average.average("/l1/W")) == expected);
    });
  }
}

TEST_CASE("ExponentialMovingAverage: a model in a static graph is tested with the averages") {
  auto model = static_graph(L::Linear(2, 1, {.nobias = true}));
  Link& link = model;
  ExponentialMovingAverage average(link, {.decay = 0.5, .warmup = false});
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Variable x(array<float>({1, 1}, {1, 2}), false);
  const auto call = [&] { return numbers(model(x).array())[0]; };
  Parameter& w = *link.namedparams()[0].second;
  set(w, 1);
  for (int i = 0; i < 3; ++i) CHECK(call() == 2);
  average.update();
  set(w, 2);
  average.update();
  {
    const auto applied = average.apply();
    CHECK(call() == 3);
  }
  CHECK(call() == 4);
}

TEST_CASE("ExponentialMovingAverage: snapshots without averages, or with others") {
  const ScratchDirectory dir;
  L::Linear model(2, 1);
  FakeUpdater updater;
  ExponentialMovingAverage average(model);
  {
    training::Trainer plain(updater, {1, "iteration"}, dir / "out");
    serializers::save_npz(dir / "plain.npz", plain);
    training::Trainer trainer(updater, {1, "iteration"}, dir / "out");
    trainer.extend(average);
    average.update();
    serializers::load_npz(dir / "plain.npz", trainer);
    CHECK(average.t() == 1);
    serializers::save_npz(dir / "averaged.npz", trainer);
  }
  // An average of another shape gives way to the parameter at the next step.
  L::Linear larger(3, 1);
  set(larger.W, 4);
  ExponentialMovingAverage other(larger);
  training::Trainer trainer(updater, {1, "iteration"}, dir / "out");
  trainer.extend(other);
  serializers::load_npz(dir / "averaged.npz", trainer);
  {
    const auto applied = other.apply();
    CHECK(numbers(larger.W.array()) == Numbers(3, 4));
  }
  other.update();
  CHECK(numbers(other.average("/W")) == Numbers(3, 4));
}

TEST_CASE("with_average gives numbers back when the extension throws, and shows pictures") {
  const ScratchDirectory dir;
  L::Linear model(1, 1);
  ExponentialMovingAverage average(model, {.decay = 0.5, .warmup = false});
  set(model.W, 1);
  average.update();
  set(model.W, 3);
  average.update();
  FakeUpdater updater;
  training::Trainer trainer(updater, {1, "iteration"}, dir / "out");
  trainer.extend(extensions::with_average(average, training::make_extension([&](training::Trainer&) {
                                            CHECK(numbers(model.W.array()) == Numbers{2});
                                            throw ValueError("no");
                                          })),
                 {.name = "failing", .trigger = {1, "iteration"}});
  CHECK_THROWS_AS(trainer.run(false), ValueError);
  CHECK(numbers(model.W.array()) == Numbers{3});

  std::vector<double> seen;
  auto on_error = extensions::with_average(
      average, training::make_extension([](training::Trainer&) {}, {.on_error = [&](training::Trainer&, const auto&) {
                                          seen.push_back(numbers(model.W.array())[0]);
                                        }}));
  on_error.on_error(trainer, ValueError("no"));
  CHECK(numbers(model.W.array()) == Numbers{3});
  {
    const auto applied = average.apply();
    on_error.on_error(trainer, ValueError("no"));
    CHECK(numbers(model.W.array()) == Numbers{2});
  }
  REQUIRE(seen.size() == 2);
  CHECK(seen[0] == 2);
  CHECK(seen[1] == 2);

  training::Trainer drawing(updater, {2, "iteration"}, dir / "out");
  drawing.extend(extensions::with_average(average, extensions::PictureReport([&] {
                                            return std::vector<extensions::TitledImage>{{"w", model.W.array().copy()}};
                                          })),
                 {.trigger = {1, "iteration"}});
  drawing.run();
  const auto& source = drawing.get_extension<extensions::AveragedExtension>("PictureReport");
  CHECK(source.drawn() == 1);
  CHECK(source.pictures().size() == 1);
}
