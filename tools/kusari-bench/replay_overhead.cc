#include "kusari/tools/kusari-bench/replay_overhead.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/kernel.h"

namespace bench {
namespace {

using kusari::Array;
using kusari::LaunchArgument;
using Kind = LaunchArgument::Kind;

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

}  // namespace

void report_replay_overhead(const Settings& settings, const std::string& name, const std::function<void()>& step,
                            const std::function<void()>& replay) {
  Launches launches;
  step();
  {
    const kusari::ScopedLaunchObserver scope(launches);
    step();
  }
  Samples kernels = sample(settings, [&] { launches.run(); });
  Samples replays = sample(settings, replay);
  const std::string fields = ",\"launches\":" + std::to_string(launches.size());
  report(settings, (name + ".kernels").c_str(), "us/step", kernels, 1e6, fields);
  report(settings, (name + ".replay").c_str(), "us/step", replays, 1e6, fields);
  // The quietest windows of both, the second quietest, and so on.
  std::ranges::sort(kernels.values);
  std::ranges::sort(replays.values);
  Samples overhead = {{}, std::max(kernels.others, replays.others)};
  for (size_t i = 0; i < std::min(kernels.values.size(), replays.values.size()); ++i)
    overhead.values.push_back(replays.values[i] - kernels.values[i]);
  report(settings, (name + ".per_launch").c_str(), "ns", overhead, 1e9 / static_cast<double>(launches.size()), fields);
}

}  // namespace bench
