#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/allocations.h"
#include "kusari/tools/kusari-bench/cases.h"

namespace bench {
namespace {

namespace F = kusari::functions;
namespace L = kusari::links;
using kusari::Array;
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

// Uniform in [0, 1).
double draw() { return static_cast<double>(kusari::random::bits() >> 11) * 0x1p-53; }

// Training on one batch of normal numbers with random labels.
template <class Optimizer>
class Training {
 public:
  Training(const Sizes& sizes, Optimizer optimizer)
      : model_(sizes.in, sizes.hidden, sizes.out), optimizer_(std::move(optimizer)) {
    std::vector<float> x(static_cast<size_t>(sizes.batch * sizes.in));
    for (float& value : x) {
      value = static_cast<float>(std::sqrt(-2 * std::log(1 - draw())) * std::cos(6.283185307179586 * draw()));
    }
    std::vector<int32_t> t(static_cast<size_t>(sizes.batch));
    for (int32_t& label : t) label = static_cast<int32_t>(draw() * static_cast<double>(sizes.out));
    x_ = kusari::array(x, {sizes.batch, sizes.in});
    t_ = kusari::array(t);
    optimizer_.setup(model_);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void step() {
    const Variable loss = F::softmax_cross_entropy(model_(x_), t_);
    model_.cleargrads();
    loss.backward();
    optimizer_.update();
  }
  int64_t parameters() { return model_.count_params(); }

 private:
  Mlp model_;
  Optimizer optimizer_;
  Array x_, t_;
};

template <class Optimizer>
void train(const Settings& settings, const char* name, const Sizes& sizes, Optimizer optimizer, const char* unit,
           double scale) {
  Training training(sizes, std::move(optimizer));
  const Samples samples = sample(settings, [&] { training.step(); });
  report(settings, name, unit, samples, scale,
         ",\"params\":" + std::to_string(training.parameters()) +
             ",\"peak_rss_mib\":" + std::to_string(static_cast<int>(peak_resident_mib())));
}

}  // namespace

void mlp(const Settings& settings) { train(settings, "mlp", kMlp, kusari::optimizers::Adam(), "ms/step", 1e3); }

void small_mlp(const Settings& settings) {
  train(settings, "small_mlp.sgd_momentum", kSmallMlp, kusari::optimizers::MomentumSGD(0.01, 0.9), "us/step", 1e6);
  train(settings, "small_mlp.adam", kSmallMlp, kusari::optimizers::Adam(), "us/step", 1e6);
}

void steady_state(const Settings& settings) {
  constexpr int kSteps = 10'000;
  Training training(kSmallMlp, kusari::optimizers::MomentumSGD(0.01, 0.9));
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
