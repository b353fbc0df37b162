#include "kusari/tools/kusari-bench/traffic.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/kernel.h"

namespace bench {
namespace {

using kusari::Array;
using Kind = kusari::LaunchArgument::Kind;

constexpr double kMega = 1e6;

struct Tally {
  int launches = 0;
  double read = 0, written = 0;
  double again = 0;  ///< of what is read: once more in a second pass, as no cache holds a batch of images
};

using kusari::LaunchArgument;

// Arguments that a kernel passes over twice: batch normalization first for its sums, in the gradient too. A mask or a y
// is read in the first of these passes alone, and what the first wrote for the residual in place of gy.
std::span<const size_t> arguments_read_twice(const kusari::Launch& launch) {
  static constexpr size_t kX[] = {1}, kXAndGradient[] = {1, 3};
  const std::string_view name = launch.name;
  const auto has = [&](size_t i) { return static_cast<const Array*>(launch.arguments[i].value)->is_defined(); };
  if (name == "batch_normalization_forward") return kX;
  if (name == "batch_normalization_fused_forward" && !has(2)) return kX;
  if (name == "batch_normalization_backward" || name == "batch_normalization_masked_backward") return kXAndGradient;
  return {};
}

// Multiplications and additions of a convolution; 0 for all other kernels.
double operations_of(const kusari::Launch& launch) {
  struct Places {
    std::string_view name;
    size_t W, y;  // y: the image of the result's size, or its gradient
  };
  static constexpr Places kPlaces[] = {{"convolution_forward", 2, 4},
                                       {"convolution_forward_with_sums", 2, 3},
                                       {"convolution_fused_forward", 3, 6},
                                       {"convolution_data_grad", 2, 1},
                                       {"convolution_data_grad_added", 2, 1},
                                       {"convolution_filter_grad", 3, 2},
                                       {"normalized_convolution_forward", 8, 12},
                                       {"normalized_convolution_backward", 8, 9}};
  for (const Places& places : kPlaces) {
    if (places.name != launch.name) continue;
    const double products = places.name == "normalized_convolution_backward" ? 2 : 1;
    const Array &W = *static_cast<const Array*>(launch.arguments[places.W].value),
                &y = *static_cast<const Array*>(launch.arguments[places.y].value);
    const double outputs = static_cast<double>(W.shape()[0]);
    return products * 2 * static_cast<double>(y.size()) * static_cast<double>(W.size()) / std::max(outputs, 1.0);
  }
  return 0;
}

class TrafficCounter final : public kusari::LaunchObserver {
 public:
  explicit TrafficCounter(bool list) : list_{list} {}

  void on_launch(const kusari::Launch& launch, void (*proceed)(const kusari::Launch&)) override {
    Tally tally{1};
    std::string line = launch.name;
    for (const LaunchArgument& argument : launch.arguments) count(argument, tally, line);
    const auto bytes = [&](size_t i) {
      return static_cast<double>(static_cast<const Array*>(launch.arguments[i].value)->nbytes());
    };
    for (const size_t i : arguments_read_twice(launch)) tally.again += bytes(i);
    // Each of its three kernels, and the second pass of the last: x, gy, and what they hand on.
    if (launch.name == std::string_view("normalized_convolution_backward")) tally.again += 5 * bytes(2) + bytes(9);
    Tally& sum = kernels_[launch.name];
    ++sum.launches;
    sum.read += tally.read;
    sum.written += tally.written;
    sum.again += tally.again;
    if (list_) {
      std::fprintf(stderr, "%s  %.3f MB  %.3f GFLOP\n", line.c_str(),
                   (tally.read + tally.written + tally.again) / kMega, operations_of(launch) / 1e9);
    }
    proceed(launch);
  }

  /// The kernels by name, those with the most bytes first.
  std::vector<std::pair<std::string, Tally>> sorted() const {
    std::vector<std::pair<std::string, Tally>> kernels(kernels_.begin(), kernels_.end());
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const auto& a, const auto& b) { return bytes_of(a.second) > bytes_of(b.second); });
    return kernels;
  }

 private:
  static double bytes_of(const Tally& tally) { return tally.read + tally.written + tally.again; }
  static void add(const Array& array, bool read, bool written, Tally& tally) {
    const double bytes = array.is_defined() ? static_cast<double>(array.nbytes()) : 0;
    if (read) tally.read += bytes;
    if (written) tally.written += bytes;
  }
  void describe(const char* kind, const Array& array, std::string& line) const {
    if (!list_ || !array.is_defined()) return;
    line += std::string(" ") + kind + ":" + std::string(kusari::name(array.dtype())) + to_string(array.shape());
    if (array.is_contiguous()) return;
    line += array.is_channels_last() ? "channels-last" : "strided";
  }
  void count(const kusari::LaunchArgument& argument, Tally& tally, std::string& line) const {
    const auto array = [&]() -> const Array& { return *static_cast<const Array*>(argument.value); };
    switch (argument.kind) {
      case Kind::in:
        add(array(), true, false, tally);
        return describe("in", array(), line);
      case Kind::out:
        add(array(), false, true, tally);
        return describe("out", array(), line);
      case Kind::in_out:
        add(array(), true, true, tally);
        return describe("in_out", array(), line);
      case Kind::in_list:
      case Kind::in_out_list:
        for (const Array& one : *static_cast<const std::span<const Array>*>(argument.value)) {
          add(one, true, argument.kind == Kind::in_out_list, tally);
        }
        return;
      default:
        return;
    }
  }

  bool list_;
  std::map<std::string, Tally> kernels_;
};

}  // namespace

void report_traffic(const Settings& settings, const char* name, int64_t batch, const std::function<void()>& step) {
  for (int i = 0; i < 2; ++i) step();  // makes what stays: states, plans, cached memory
  const bool on_cpu = settings.device.is_cpu();
  if (!on_cpu) kusari::cuda::reset_max_memory_allocated(settings.device.index());
  TrafficCounter counter(settings.traffic > 1);
  {
    const kusari::ScopedLaunchObserver scope(counter);
    step();
  }
  const auto kernels = counter.sorted();
  Tally total;
  for (const auto& [kernel, tally] : kernels) {
    total.launches += tally.launches;
    total.read += tally.read;
    total.written += tally.written;
    total.again += tally.again;
  }
  const double bytes = total.read + total.written, moved = bytes + total.again, items = static_cast<double>(batch);
  std::printf("%-36s %8s %12s %12s %12s %14s %7s\n", "kernel", "launches", "MB read", "read again", "MB written",
              "MB per item", "share");
  for (const auto& [kernel, tally] : kernels) {
    const double all = tally.read + tally.written + tally.again;
    std::printf("%-36s %8d %12.3f %12.3f %12.3f %14.4f %6.1f%%\n", kernel.c_str(), tally.launches, tally.read / kMega,
                tally.again / kMega, tally.written / kMega, all / kMega / items, 100 * all / std::max(moved, 1.0));
  }
  std::printf(
      "{\"traffic\":\"%s\",\"mode\":\"%s\",\"device\":\"%s\",\"batch\":%lld,\"launches\":%d,\"mb\":%.1f,"
      "\"mb_per_item\":%.4f,\"mb_per_item_moved\":%.4f,\"peak_mib\":%.0f,\"kernels\":{",
      name, settings.mode.c_str(), settings.device.name().c_str(), static_cast<long long>(batch), total.launches,
      bytes / kMega, bytes / kMega / items, moved / kMega / items,
      on_cpu ? peak_resident_mib()
             : static_cast<double>(kusari::cuda::max_memory_allocated(settings.device.index())) / (1 << 20));
  const char* comma = "";
  for (const auto& [kernel, tally] : kernels) {
    std::printf("%s\"%s\":[%d,%.0f,%.0f,%.0f]", comma, kernel.c_str(), tally.launches, tally.read, tally.written,
                tally.again);
    comma = ",";
  }
  std::printf("}}\n");
}

}  // namespace bench
