#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/image_converter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::testing {
namespace {

class Cnn : public Chain {
 public:
  Cnn() : conv{*this, "conv", 3, 4, 3}, fc{*this, "fc", kInfer, 5} {}
  Variable operator()(const Variable& x) { return fc(functions::relu(conv(x))); }

 private:
  Child<L::Convolution2D> conv;
  Child<L::Linear> fc;
};

datasets::TupleDataset images() {
  constexpr int64_t kImages = 22;
  std::vector<int32_t> t(static_cast<size_t>(kImages));
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int32_t>(i % 5);
  return datasets::TupleDataset(uniform_array({kImages, 3, 8, 8}, 0, 255, Dtype::uint8), array(t, {kImages}));
}

struct Seeded {
  explicit Seeded(uint64_t seed) { random::seed(seed); }
};

struct PrefetchRun {
  PrefetchRun(const Device& device, int64_t prefetch, bool threads, int64_t accumulate) {
    optimizer.setup(model);
    const updaters::StandardUpdaterOptions options{
        .converter = datasets::image_converter({.deviation = {255}, .random_flip = true}),
        .device = device,
        .loss_scaling = LossScalingOptions{},
        .prefetch = prefetch,
        .accumulate = accumulate};
    if (threads) {
      iterator.emplace(iterators::MultithreadIterator(images(), 4, {.n_threads = 2, .n_prefetch = 3}));
    } else {
      iterator.emplace(iterators::SerialIterator(images(), 4));
    }
    updater.emplace(*iterator, optimizer, options);
  }
  std::vector<double> state() {
    std::vector<double> values;
    for (Parameter* parameter : model.params()) {
      for (const double v : parameter->array().to_vector<double>()) values.push_back(v);
    }
    return values;
  }

  Seeded seeded{11};
  links::Classifier<Cnn> model{Cnn()};
  optimizers::MomentumSGD optimizer{0.05};
  std::optional<iterators::IteratorRef> iterator;
  std::optional<updaters::StandardUpdater> updater;
};

TEST_CASE("batches that are sent ahead train a model on a GPU to the same bits") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    const auto policy = using_config(&Config::dtype, dtype);
    for (const int64_t accumulate : {1, 2}) {
      const auto result = [&](int64_t prefetch, bool threads) {
        PrefetchRun run(*device, prefetch, threads, accumulate);
        for (int i = 0; i < 6; ++i) run.updater->update();
        (*run.iterator)->next();  // what was sent ahead is thrown away
        for (int i = 0; i < 3; ++i) run.updater->update();
        (*run.iterator)->reset();
        for (int i = 0; i < 3; ++i) run.updater->update();
        return run.state();
      };
      const auto expected = result(0, false);
      for (const bool threads : {false, true}) {
        for (const int64_t prefetch : {1, 3}) {
          CAPTURE(threads);
          CAPTURE(prefetch);
          CAPTURE(accumulate);
          CHECK(result(prefetch, threads) == expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kusari::testing
