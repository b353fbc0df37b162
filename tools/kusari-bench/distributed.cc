#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/small_mlp.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

using kusari::Array;
using kusari::distributed::Communicator;

constexpr int64_t kElements = 25'000'000;  // 100 MB
constexpr int kWarmUp = 3, kWindows = 9;

/// MPI's own, of float32 in place; empty where ranks are no processes of MPI.
std::function<void(const Array&)> mpi_all_reduce(bool is_mpi) {
  if (!is_mpi) return {};
  void* const library = dlopen("libkusari_mpi.so", RTLD_NOW | RTLD_NOLOAD);
  using Entry = int (*)(float* data, int64_t count);
  const auto entry = library != nullptr ? reinterpret_cast<Entry>(dlsym(library, "kusari_mpi_all_reduce")) : nullptr;
  if (entry == nullptr) throw kusari::DeviceError("all_reduce: libkusari_mpi.so has no entry kusari_mpi_all_reduce");
  return [entry](const Array& data) {
    if (entry(static_cast<float*>(data.raw_data()), data.size()) != 0) {
      throw kusari::RemoteError("MPI_Allreduce failed");
    }
  };
}

/// Seconds of the slowest rank for each of the functions, in turn. As many calls on all ranks, whatever other programs
/// do meanwhile.
std::vector<Samples> sample_together(const Communicator& comm, const Settings& settings,
                                     const std::vector<std::function<void()>>& functions) {
  const auto window = [&](const std::function<void()>& call, int64_t calls) {
    comm.barrier();
    const double begin = now();
    for (int64_t i = 0; i < calls; ++i) call();
    const double own = (now() - begin) / static_cast<double>(calls);
    double slowest = 0;
    for (const Array& other : comm.allgather(kusari::full({1}, own, kusari::Dtype::float64))) {
      slowest = std::max(slowest, other.item<double>());
    }
    return slowest;
  };
  std::vector<int64_t> calls;
  for (const auto& call : functions) {
    const double once = window(call, kWarmUp);
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>(settings.seconds / kWindows / once)));
  }
  std::vector<Samples> samples(functions.size());
  for (int i = 0; i < kWindows; ++i) {
    for (size_t k = 0; k < functions.size(); ++k) {
      const size_t f = i % 2 == 0 ? k : functions.size() - 1 - k;  // none has always the other's leavings in the cache
      samples[f].values.push_back(window(functions[f], calls[f]));
    }
  }
  return samples;
}

void measure(const Communicator& comm, const Settings& settings, bool is_mpi) {
  const Array data = kusari::full({kElements}, 1, kusari::Dtype::float32);
  const Array zeros = kusari::full({kElements}, 0, kusari::Dtype::float32);  // whose sums are zeros
  const auto group = comm.shared_group();
  const double mean = 1.0 / comm.size();
  std::vector<std::function<void()>> functions{[&] { kusari::AllReduce(*group, data, {.scale = mean}).wait(); }};
  if (const auto peer = mpi_all_reduce(is_mpi)) functions.push_back([&, peer] { peer(zeros); });
  const std::vector<Samples> samples = sample_together(comm, settings, functions);
  for (size_t f = 0; f < samples.size() && comm.is_root(); ++f) {
    const auto bytes = static_cast<double>(data.nbytes());
    char more[160];
    std::snprintf(more, sizeof more, ",\"ranks\":%d,\"transport\":\"%s\",\"bytes\":%.0f,\"gb_per_s\":%.3g", comm.size(),
                  is_mpi ? "mpi" : "threads", bytes, bytes / median(samples[f].values) / 1e9);
    report(settings, f == 0 ? "all_reduce" : "all_reduce.mpi", "ms", samples[f], 1e3, more);
  }
}

/// A training whose gradients are exchanged, beside the same on each rank for itself at the same time: what the steps
/// have in common are the processors, not the exchange.
template <class Model>
void measure_steps(const Communicator& comm, const Settings& settings, const std::string& name, const char* unit,
                   double scale, const std::function<Model()>& make, const Array& x, const Array& t) {
  using kusari::optimizers::MomentumSGD;
  using ModelTraining = Training<Model, MomentumSGD>;
  ModelTraining alone(settings, make(), MomentumSGD(0.01, 0.9), x, t);
  ModelTraining together(settings, make(),
                         kusari::distributed::create_multi_node_optimizer(MomentumSGD(0.01, 0.9), comm), x, t);
  const std::vector<Samples> samples =
      sample_together(comm, settings, {[&] { alone.step(); }, [&] { together.step(); }});
  if (!comm.is_root()) return;
  const std::string more = ",\"ranks\":" + std::to_string(comm.size()) + static_graph_field(settings);
  report(settings, (name + ".alone").c_str(), unit, samples[0], scale, more);
  report(settings, name.c_str(), unit, samples[1], scale, more);
}

}  // namespace

void exchange(const Settings& settings) {
  namespace L = kusari::links;
  const Communicator comm = kusari::distributed::create_communicator();
  const int64_t images = batch_of(settings, 64, 256);
  measure_steps<SmallMlp>(
      comm, settings, "exchange.small_mlp", "us/step", 1e6, [] { return SmallMlp(); }, draw_normal({16, 32}),
      draw_labels(16, 8));
  measure_steps<L::ResNet18>(
      comm, settings, "exchange.resnet18_cifar", "ms/step", 1e3,
      [] { return L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}); },
      draw_normal({images, 3, 32, 32}).channels_last(), draw_labels(images, 10));
}

void all_reduce(const Settings& settings) {
  const Communicator comm = kusari::distributed::create_communicator();
  if (comm.size() > 1) return measure(comm, settings, true);
  kusari::distributed::run_ranks(2, [&](Communicator& rank) { measure(rank, settings, false); });
}

}  // namespace bench
