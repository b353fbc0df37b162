#include <cstdint>
#include <cstdio>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/version.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/allocations.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace F = kusari::functions;
namespace L = kusari::links;
using kusari::Child;
using kusari::Variable;

class Mlp : public kusari::Chain {
 public:
  Mlp(int64_t in, int64_t hidden, int64_t out)
      : l1{*this, "l1", in, hidden}, l2{*this, "l2", hidden, hidden}, l3{*this, "l3", hidden, out} {}
  Variable operator()(const Variable& x) { return l3(F::relu(l2(F::relu(l1(x))))); }

 private:
  Child<L::Linear> l1, l2, l3;
};

struct Sizes {
  int64_t batch, in, hidden, out;
};
constexpr Sizes kMlp = {100, 784, 1000, 10};
constexpr Sizes kSmallMlp = {16, 32, 64, 8};

template <class Optimizer>
class MlpTraining : public Training<Mlp, Optimizer> {
 public:
  MlpTraining(const Settings& settings, const Sizes& sizes, Optimizer optimizer)
      : MlpTraining(settings, sizes, batch_of(settings, sizes.batch, sizes.batch), std::move(optimizer)) {}

 private:
  MlpTraining(const Settings& settings, const Sizes& sizes, int64_t batch, Optimizer optimizer)
      : Training<Mlp, Optimizer>(settings, Mlp(sizes.in, sizes.hidden, sizes.out), std::move(optimizer),
                                 draw_normal({batch, sizes.in}), draw_labels(batch, sizes.out)) {}
};

template <class Optimizer>
void train_mlp(const Settings& settings, const char* name, const char* gpu_name, const Sizes& sizes,
               Optimizer optimizer, const char* unit, double scale) {
  MlpTraining<Optimizer> training(settings, sizes, std::move(optimizer));
  report_training(settings, training, name, gpu_name, unit, scale);
}

}  // namespace

void mlp(const Settings& settings) {
  train_mlp(settings, "mlp", "mlp", kMlp, kusari::optimizers::Adam(), "ms/step", 1e3);
}

void small_mlp(const Settings& settings) {
  train_mlp(settings, "small_mlp.sgd_momentum", "small_mlp", kSmallMlp, kusari::optimizers::MomentumSGD(0.01, 0.9),
            "us/step", 1e6);
  train_mlp(settings, "small_mlp.adam", "small_mlp_adam", kSmallMlp, kusari::optimizers::Adam(), "us/step", 1e6);
}

void steady_state(const Settings& settings) {
  constexpr int kSteps = 10'000;
  MlpTraining training(settings, kSmallMlp, kusari::optimizers::MomentumSGD(0.01, 0.9));
  for (int i = 0; i < 100; ++i) training.step();
  const double resident_before = resident_mib();
  const int64_t system_before = kusari::memory::statistics().system_allocations, heap_before = allocations();
  for (int i = 0; i < kSteps; ++i) training.step();
  const int64_t heap = allocations() - heap_before;
  std::printf(
      "{\"bench\":\"steady_state\",\"impl\":\"kusari-%s\",\"threads\":%d,\"steps\":%d,\"pool_system_allocations\":%lld,"
      "\"mallocs_per_step\":%.4f,\"rss_growth_kib\":%.0f}\n",
      KUSARI_VERSION, settings.threads, kSteps,
      static_cast<long long>(kusari::memory::statistics().system_allocations - system_before),
      static_cast<double>(heap) / kSteps, (resident_mib() - resident_before) * 1024);
}

}  // namespace bench
