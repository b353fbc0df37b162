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
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/tools/kusari-bench/cases.h"

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
    for (size_t f = 0; f < functions.size(); ++f) samples[f].values.push_back(window(functions[f], calls[f]));
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

}  // namespace

void all_reduce(const Settings& settings) {
  const Communicator comm = kusari::distributed::create_communicator();
  if (comm.size() > 1) return measure(comm, settings, true);
  kusari::distributed::run_ranks(2, [&](Communicator& rank) { measure(rank, settings, false); });
}

}  // namespace bench
