#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/small_mlp.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace F = kusari::functions;
using kusari::Variable;

constexpr int kCallsInFlight = 200;  // in flight at once: fewer than a device queues

class Counter final : public kusari::LaunchObserver {
 public:
  void on_launch(const kusari::Launch& launch, void (*proceed)(const kusari::Launch&)) override {
    ++launches;
    proceed(launch);
  }
  int launches = 0;
};

// The host's time alone: the device is waited for outside the measured calls, which are few enough for its queue.
Samples host_samples(const Settings& settings, const std::function<void()>& step) {
  constexpr int kWindows = 51;
  Samples samples;
  for (int window = -5; window < kWindows; ++window) {
    kusari::synchronize(settings.device);
    const double start = now();
    step();
    const double seconds = now() - start;
    if (window >= 0) samples.values.push_back(seconds);
  }
  kusari::synchronize(settings.device);
  return samples;
}

}  // namespace

void host_cost(const Settings& settings) {
  const kusari::Device& device = settings.device;
  const std::string where = ",\"device\":\"" + device.name() + "\"";
  const auto print = [&](const char* name, const Samples& samples, int calls, const std::string& more = "") {
    report(settings, name, "us", samples, 1e6 / calls, where + more);
  };
  const auto repeated = [&](const auto& call) {
    return host_samples(settings, [&] {
      for (int i = 0; i < kCallsInFlight; ++i) call();
    });
  };

  const kusari::Array x = kusari::ones({16, 64}, kusari::Dtype::float32, device), y = kusari::empty_like(x);
  const Variable leaf(x);
  print("host_cost.allocate", repeated([&] {
          kusari::empty({16, 64}, kusari::Dtype::float32, device);
        }),
        kCallsInFlight);
  print("host_cost.kernel", repeated([&] { kusari::pointwise_to(y, kusari::kernels::Add{}, x, x); }), kCallsInFlight);
  print("host_cost.function", repeated([&] { F::relu(leaf); }), kCallsInFlight);

  Training<SmallMlp, kusari::optimizers::MomentumSGD> training(
      settings, SmallMlp(), kusari::optimizers::MomentumSGD(0.01, 0.9), draw_normal({16, 32}), draw_labels(16, 8));
  Counter counter;
  {
    const kusari::ScopedLaunchObserver scope(counter);
    training.step();
  }
  constexpr int kSteps = 20;
  const Samples steps = host_samples(settings, [&] {
    for (int i = 0; i < kSteps; ++i) training.step();
  });
  const std::string launches = ",\"kernels_per_step\":" + std::to_string(counter.launches);
  print("host_cost.step", steps, kSteps, launches);
  print("host_cost.per_kernel", steps, kSteps * counter.launches, launches);
}

}  // namespace bench
