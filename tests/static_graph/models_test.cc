#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/examples/cifar/models.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/mnist/mlp.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/training/link_observers.h"
#include "kusari/kusari.h"

// The networks of the examples, trained for some iterations define-by-run, by static_graph(model), and by an updater
// whose whole step is a static graph.
namespace {

using namespace kusari;

constexpr int64_t kModelIterations = 3;

enum class Mode { define_by_run, model, step };

struct Problem {
  Shape image;
  int64_t batch;
  int32_t classes;
};

struct Images {
  Array x, t;
};

Images images_of(const Problem& problem) {
  const int64_t n = problem.batch * kModelIterations;
  Shape shape = {n};
  for (const int64_t d : problem.image) shape.push_back(d);
  std::vector<float> pixels(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(philox_word(3, i)) * 0x1p-31f - 1;
  std::vector<int32_t> labels(static_cast<size_t>(n));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i * 7) % problem.classes;
  return {array(pixels, shape), array(labels, {n})};
}

/// The losses of the iterations.
std::vector<double> train_model(AnyLink& model, const Problem& problem, Mode mode, const StaticGraphPasses& passes) {
  const Images images = images_of(problem);
  optimizers::MomentumSGD optimizer(0.01, 0.9);
  optimizer.setup(model);
  StaticGraphOptions graph_options;
  graph_options.passes = passes;
  std::vector<double> result;
  if (mode == Mode::step) {
    const datasets::TupleDataset dataset(images.x, images.t);
    iterators::SerialIterator iterator(dataset, problem.batch, {.shuffle = false});
    updaters::StandardUpdaterOptions options;
    options.static_graph = graph_options;
    updaters::StandardUpdater updater(iterator, optimizer, options);
    Reporter reporter;
    reporter.add_observers(std::make_unique<training::LinkObservers>("main", model));
    random::seed(5);  // an updater has drawn some
    for (int64_t i = 0; i < kModelIterations; ++i) {
      Observation observation;
      const ReportScope scope = reporter.scope(observation);
      updater.update();
      result.push_back(observation.at("main/loss"));
    }
  } else {
    auto graph = static_graph(model, graph_options);
    random::seed(5);
    for (int64_t i = 0; i < kModelIterations; ++i) {
      const auto rows = [&](const Array& all) {
        return Variable(all.slice(0, i * problem.batch, problem.batch).copy(), false);
      };
      Variable loss;
      optimizer.update([&] {
        loss = mode == Mode::model ? graph(rows(images.x), rows(images.t)) : model(rows(images.x), rows(images.t));
        result.push_back(loss.item<double>());
        return loss;
      });
    }
  }
  return result;
}

/// The largest relative difference of two models; infinity where bits differ if `exact`.
double difference(AnyLink& a, AnyLink& b, bool exact) {
  const std::vector<Parameter*> left = a.params(), right = b.params();
  REQUIRE(left.size() == right.size());
  double largest = 0;
  for (size_t k = 0; k < left.size(); ++k) {
    if (!left[k]->is_initialized()) continue;
    const Array x = left[k]->array().contiguous(), y = right[k]->array().contiguous();
    REQUIRE(x.shape() == y.shape());
    if (exact) {
      if (std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) != 0) return INFINITY;
      continue;
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const double p = x.data<float>()[i], q = y.data<float>()[i];
      largest = std::max(largest, std::abs(p - q) / (1 + std::abs(q)));
    }
  }
  return largest;
}

void check_model(const AnyLink& model, const Problem& problem, std::initializer_list<Mode> modes) {
  AnyLink eager_model(model);
  const std::vector<double> eager = train_model(eager_model, problem, Mode::define_by_run, StaticGraphPasses::none());
  for (const Mode mode : modes) {
    AnyLink replayed(model);
    CHECK(train_model(replayed, problem, mode, StaticGraphPasses::none()) == eager);
    CHECK(difference(replayed, eager_model, true) == 0);
  }
  AnyLink fused(model);
  const std::vector<double> losses = train_model(fused, problem, Mode::step, StaticGraphPasses{});
  for (size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(eager[i]).epsilon(1e-4));
  CHECK(difference(fused, eager_model, false) < 1e-4);
}

/// Uninitialised parameters of copies would draw other numbers.
AnyLink initialised(AnyLink model, const Problem& problem) {
  random::seed(17);
  const Images images = images_of({problem.image, 1, problem.classes});
  const auto guard = using_config(&Config::train, false);
  model(Variable(images.x.slice(0, 0, 1), false), Variable(images.t.slice(0, 0, 1), false));
  return model;
}

const std::initializer_list<Mode> kModes = {Mode::model, Mode::step};

}  // namespace

TEST_CASE("the MNIST example's network replays bit by bit") {
  const Problem problem{{784}, 16, 10};
  check_model(initialised(L::classifier(Mlp(64, 10)), problem), problem, kModes);
}

TEST_CASE("the CIFAR example's networks replay bit by bit") {
  const Problem problem{{3, 32, 32}, 2, 10};
  for (const auto& [name, make] : kModels) {
    CAPTURE(name);
    check_model(initialised(L::classifier(make(10)), problem), problem, kModes);
  }
}

TEST_CASE("the ImageNet example's networks replay bit by bit") {
  // Those of more than 60 million parameters take minutes: KUSARI_TEST_LARGE_MODELS=1.
  const bool wants_all = std::getenv("KUSARI_TEST_LARGE_MODELS") != nullptr;
  for (const auto& [name, arch] : kArchs) {
    if (!wants_all && (name == "vgg16" || name == "alex")) continue;
    CAPTURE(name);
    const Problem problem{{3, arch.insize, arch.insize}, name == "vgg16" ? 1 : 2, 1000};
    check_model(initialised(arch.make(), problem), problem, {Mode::step});
  }
}
