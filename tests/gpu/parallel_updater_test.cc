#include "kusari/updaters/parallel_updater.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/gpu/testing.h"

// Replicas on two devices, on one, and on a device and the CPU, as replicas on the CPU.
namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;
using updaters::NamedDevices;
using updaters::ParallelUpdater;

class ReplicatedNet : public Chain {
 public:
  ReplicatedNet()
      : conv{*this, "conv", 3, 8, 3, L::Convolution2D::Options{.pad = 1}},
        norm{*this, "norm", 8},
        fc{*this, "fc", kInfer, 10} {}
  Variable operator()(const Variable& x, const Variable& t) {
    const Variable loss = F::softmax_cross_entropy(fc(F::relu(norm(conv(x)))), t);
    report({{"loss", loss}, {"devices", x.device().index() + 1}}, *this);
    return loss;
  }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> norm;
  Child<L::Linear> fc;
};

struct ReplicasResult {
  std::vector<Array> values;  // parameters and statistics
  double loss;
  double devices;
  double loss_scale;
};

ReplicasResult train_replicas(const NamedDevices& devices, int64_t prefetch, bool scaled) {
  ReplicatedNet net;
  uint64_t seed = 0;
  const auto fill = [&](Parameter& p) {
    p.array().copy_from(uniform_array(p.shape(), -0.2, 0.2, Dtype::float32, ++seed));
  };
  net.fc.W.initialize({10, 8 * 6 * 6});
  for (Parameter* p : net.params()) fill(*p);
  optimizers::MomentumSGD optimizer(0.05, 0.9);
  optimizer.setup(net);
  if (scaled) optimizer.loss_scaling({.initial_scale = 1024});
  const datasets::TupleDataset data(uniform_array({22, 3, 6, 6}, -1, 1, Dtype::float32, 50),
                                    uniform_array({22}, 0, 10, Dtype::float32, 51).astype(Dtype::int32));
  iterators::SerialIterator iterator(data, 7, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer,
                          {.model = net, .devices = devices, .prefetch = prefetch, .average = true});
  Reporter reporter;
  reporter.add_observer("main", net);
  Observation observation;
  for (int step = 0; step < 4; ++step) {
    observation.clear();
    const ReportScope scope = reporter.scope(observation);
    updater.update();
  }
  CHECK(net.fc.W.device() == devices[0].second);
  for (const auto& [name, device] : devices) {
    CHECK(dynamic_cast<ReplicatedNet&>(updater.replica(name)).norm.avg_mean.device() == device);
  }
  ReplicasResult result{{}, observation.at("main/loss"), observation.at("main/devices"), optimizer.loss_scale()};
  for (Parameter* p : net.params()) result.values.push_back(p->array().to_device(Device()));
  for (const Array& statistic : {Array(net.norm.avg_mean), Array(net.norm.avg_var)}) {
    result.values.push_back(statistic.to_device(Device()));
  }
  return result;
}

}  // namespace

TEST_CASE("ParallelUpdater on GPUs does as on the CPU") {
  const auto first = gpu_device(0);
  if (!first) return;
  const auto second = cuda::device_count() > 1 ? gpu_device(1) : first;
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  const auto without_tf32 = using_config(&Config::use_tf32, false);
  struct Case {
    std::vector<Device> devices;
    double mean_index;  // of the device plus one, in the parts of 3, 2 and 2 examples, or 4 and 3
  };
  const double i = second->index();
  for (const Case& c : {Case{{*first, *second}, (4 * 1 + 3 * (i + 1)) / 7},
                        {{*second, *first, *second}, (3 * (i + 1) + 2 * 1 + 2 * (i + 1)) / 7},
                        {{*first, *first}, 1},
                        {{Device(), *second}, (4 * 1 + 3 * (i + 1)) / 7},
                        {{*first, Device(), *second}, (3 * 1 + 2 * 1 + 2 * (i + 1)) / 7}}) {
    NamedDevices devices, cpus;
    for (const Device& device : c.devices) {
      const std::string name = devices.empty() ? "main" : "replica" + std::to_string(devices.size());
      devices.emplace_back(name, device);
      cpus.emplace_back(name, Device());
      CAPTURE(device.name());
    }
    for (const bool scaled : {false, true}) {
      CAPTURE(scaled);
      const ReplicasResult expected = train_replicas(cpus, 0, scaled);
      for (const int64_t prefetch : {0, 2}) {
        CAPTURE(prefetch);
        const ReplicasResult got = train_replicas(devices, prefetch, scaled);
        REQUIRE(got.values.size() == expected.values.size());
        for (size_t k = 0; k < got.values.size(); ++k) check_same(got.values[k], expected.values[k], 20);
        CHECK(got.loss == doctest::Approx(expected.loss).epsilon(1e-4));
        CHECK(got.devices == doctest::Approx(c.mean_index));
        CHECK(got.loss_scale == doctest::Approx(expected.loss_scale));
      }
    }
  }
}

}  // namespace kusari::testing
