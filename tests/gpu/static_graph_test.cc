#include "kusari/framework/static_graph/static_graph.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// Static graphs on a GPU, where they are CUDA graphs. What they compute is compared bit by bit.
namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;

class Net : public Chain {
 public:
  Net()
      : conv{*this, "conv", 3, 8, 3, L::Convolution2D::Options{.pad = 1}},
        norm{*this, "norm", 8},
        fc{*this, "fc", 8 * 3 * 3, 10} {}
  Variable operator()(const Variable& x) {
    return fc(F::dropout(F::max_pooling_2d(F::relu(norm(conv(x))), 2, {.stride = 2}), 0.25));
  }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> norm;
  Child<L::Linear> fc;
};

Array images(int64_t n, uint64_t seed) { return uniform_array({n, 3, 6, 6}, -1, 1, Dtype::float32, seed); }
Array labels(int64_t n, uint64_t seed) { return uniform_array({n}, 0, 10, Dtype::float32, seed).astype(Dtype::int32); }

template <class Model>
void prepare(Model& model, const Device& device) {
  uint64_t at = 0;
  for (Parameter* p : model.params()) p->array().copy_from(uniform_array(p->shape(), -0.3, 0.3, Dtype::float32, ++at));
  model.to(device);
  random::seed(7);
}

std::vector<float> state_of(Net& net, std::vector<float> values = {}) {
  std::vector<Array> arrays = {net.norm.avg_mean, net.norm.avg_var};
  for (Parameter* p : net.params()) arrays.push_back(p->array());
  for (const Array& a : arrays) {
    const std::vector<float> part = a.to_vector<float>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

/// While it lives, the graphs that are recorded can be counted.
class CountedGraphs {
 public:
  CountedGraphs() { setenv("KUSARI_CUDA_GRAPH_DOT", folder_.path().c_str(), 1); }
  CountedGraphs(const CountedGraphs&) = delete;
  CountedGraphs& operator=(const CountedGraphs&) = delete;
  ~CountedGraphs() { unsetenv("KUSARI_CUDA_GRAPH_DOT"); }
  size_t count() const { return folder_.count(); }

 private:
  ScratchDirectory folder_;
};

TEST_CASE("static graph on a GPU: a model trains as define-by-run, with eager work between the graphs") {
  const auto device = gpu_device();
  if (!device) return;
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  const auto trained = [&](bool is_static) {
    const auto setting = using_config(&Config::use_static_graph, is_static);
    Net net;
    prepare(net, *device);
    auto fast = static_graph(net);
    optimizers::MomentumSGD optimizer(0.05, 0.9);
    optimizer.setup(net);
    std::vector<float> losses;
    for (uint64_t step = 0; step < 8; ++step) {
      net.cleargrads();
      const Variable y = fast(images(4, 10 + step).to_device(*device));
      Variable loss = F::softmax_cross_entropy(y, labels(4, 50 + step).to_device(*device));
      const Array other = full({50000}, 3, Dtype::float32, *device);  // memory that graphs must leave alone
      loss.backward();
      optimizer.update();
      losses.push_back(loss.array().item<float>());
      CHECK(other.slice(0, 40000, 1).item<float>() == 3);
    }
    const auto testing = using_config(&Config::train, false);
    const auto no_backprop = no_backprop_mode();
    for (uint64_t step = 0; step < 4; ++step) {
      for (const float v : fast(images(5, 90 + step).to_device(*device)).array().to_vector<float>())
        losses.push_back(v);
    }
    return state_of(net, losses);
  };
  const std::vector<float> expected = trained(false);
  const CountedGraphs graphs;
  const std::vector<float> got = trained(true);
  CHECK(graphs.count() >= 3);  // forward, backward, and testing
  REQUIRE(got.size() == expected.size());
  int64_t wrong = 0;
  // Batch normalization folded into convolutions rounds differently: 5 * 10 numbers each in the four tests.
  for (size_t i = 0; i < got.size(); ++i) {
    const bool is_folded = i >= 8 && i < 8 + 4 * 50;
    wrong += is_folded ? !(got[i] == doctest::Approx(expected[i]).epsilon(1e-4)) : got[i] != expected[i];
  }
  CHECK(wrong == 0);
}

TEST_CASE("static graph on a GPU: whole steps of an updater are graphs, and leave the same model") {
  const auto device = gpu_device();
  if (!device) return;
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  const auto trained = [&](bool is_static, bool is_adam) {
    L::Classifier<Net> model{Net()};
    prepare(model, *device);
    std::unique_ptr<Optimizer> optimizer;
    if (is_adam) {
      optimizer = std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.01});
    } else {
      optimizer = std::make_unique<optimizers::MomentumSGD>(0.05, 0.9);
    }
    optimizer->setup(model);
    optimizer->add_hook(optimizer_hooks::WeightDecay(0.01));
    iterators::SerialIterator iterator(datasets::TupleDataset(images(26, 1), labels(26, 2)), 8,
                                       {.repeat = true, .shuffle = false});
    updaters::StandardUpdaterOptions options{.device = *device};
    if (is_static) options.static_graph = true;
    updaters::StandardUpdater updater(iterator, *optimizer, options);
    for (int step = 0; step < 10; ++step) updater.update();
    return state_of(model.predictor);
  };
  for (const bool is_adam : {false, true}) {
    CAPTURE(is_adam);
    const std::vector<float> expected = trained(false, is_adam);
    const CountedGraphs graphs;
    CHECK(trained(true, is_adam) == expected);
    CHECK(graphs.count() >= 1);
  }
}

}  // namespace
}  // namespace kusari::testing
