#include "kusari/framework/static_graph/static_graph.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/small_mlp.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace F = kusari::functions;
using kusari::Array;
using kusari::LaunchArgument;
using kusari::Variable;
using Kind = LaunchArgument::Kind;

using ReplayedTraining = Training<SmallMlp, kusari::optimizers::MomentumSGD>;

/// The launches of a thread with copies of their arguments, to be called again.
class Launches final : public kusari::LaunchObserver {
 public:
  void on_launch(const kusari::Launch& launch, void (*proceed)(const kusari::Launch&)) override {
    Kept& kept = launches_.emplace_back(Kept{launch.kernel, launch.run, {}, {}, {}, {}});
    for (const LaunchArgument& argument : launch.arguments) keep(argument, kept);
    proceed(launch);
  }
  void run() const {
    for (const Kept& kept : launches_) kept.run(kept.kernel, kept.arguments.data());
  }
  size_t size() const noexcept { return launches_.size(); }

 private:
  struct Kept {
    kusari::Backend::AnyKernel kernel;
    void (*run)(kusari::Backend::AnyKernel, const LaunchArgument*);
    std::deque<std::vector<Array>> arrays;
    std::deque<std::span<const Array>> lists;
    std::deque<std::vector<std::byte>> bytes;
    std::vector<LaunchArgument> arguments;
  };

  static void keep(const LaunchArgument& argument, Kept& kept) {
    const void* value = nullptr;
    switch (argument.kind) {
      case Kind::in:
      case Kind::out:
      case Kind::in_out:
      case Kind::device_scalar:
        value = &kept.arrays.emplace_back(1, *static_cast<const Array*>(argument.value)).front();
        break;
      case Kind::in_list:
      case Kind::out_list:
      case Kind::in_out_list: {
        const auto& list = *static_cast<const std::span<const Array>*>(argument.value);
        value = &kept.lists.emplace_back(kept.arrays.emplace_back(list.begin(), list.end()));
        break;
      }
      default: {
        const auto* const first = static_cast<const std::byte*>(argument.value);
        value = kept.bytes.emplace_back(first, first + argument.bytes).data();
      }
    }
    kept.arguments.push_back({argument.kind, value, argument.bytes});
  }

  std::deque<Kept> launches_;
};

/// Ten operations at a time, as in an LSTM: gates, state, output.
Variable lstm_like(const Variable& x) {
  Variable h = x, c = x;
  for (int i = 0; i < 100; ++i) {
    const Variable input = F::sigmoid(h + x), forget = F::sigmoid(h * x), output = F::sigmoid(h);
    c = forget * c + input * F::tanh(h);
    h = output * c;
  }
  return h;
}
constexpr int kOperations = 1000;

}  // namespace

void static_overhead(const Settings& settings) {
  const Array x = draw_normal({16, 32}), t = draw_labels(16, 8);
  const auto optimizer = [] { return kusari::optimizers::MomentumSGD(0.01, 0.9); };
  Launches launches;
  ReplayedTraining plain(settings, SmallMlp(), optimizer(), x, t);
  plain.step();
  {
    const kusari::ScopedLaunchObserver scope(launches);
    plain.step();
  }
  // The same kernels: nothing is fused.
  Settings whole = settings;
  whole.static_graph = "step";
  ReplayedTraining replayed(whole, SmallMlp(), optimizer(), x, t, kusari::StaticGraphPasses::none());
  Samples kernels = sample(settings, [&] { launches.run(); });
  Samples replays = sample(settings, [&] { replayed.step(); });
  const std::string fields = ",\"launches\":" + std::to_string(launches.size());
  report(settings, "static_overhead.kernels", "us/step", kernels, 1e6, fields);
  report(settings, "static_overhead.replay", "us/step", replays, 1e6, fields);
  // The quietest windows of both, the second quietest, and so on.
  std::ranges::sort(kernels.values);
  std::ranges::sort(replays.values);
  Samples overhead = {{}, std::max(kernels.others, replays.others)};
  for (size_t i = 0; i < std::min(kernels.values.size(), replays.values.size()); ++i)
    overhead.values.push_back(replays.values[i] - kernels.values[i]);
  report(settings, "static_overhead.per_launch", "ns", overhead, 1e9 / static_cast<double>(launches.size()), fields);
}

void static_chain(const Settings& settings) {
  const auto no_graph = kusari::no_backprop_mode();
  const Variable x(draw_normal({16}), false);
  const auto print = [&](const char* name, const auto& call) {
    report(settings, name, "ns/op", sample(settings, call), 1e9 / kOperations);
  };
  print("static_chain.define_by_run", [&] { lstm_like(x); });
  auto replayed = kusari::static_graph(lstm_like, {.passes = {.fuse_pointwise = false}});
  print("static_chain.replay", [&] { replayed(x); });
  auto fused = kusari::static_graph(lstm_like);
  print("static_chain.replay_fused", [&] { fused(x); });
}

}  // namespace bench
