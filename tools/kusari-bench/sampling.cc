#include "kusari/tools/kusari-bench/sampling.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "kusari/framework/core/version.h"

namespace bench {
namespace {

double own_processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// How many cores other programs use from its construction on. The kernel counts in ticks of 10 ms.
class Neighbours {
 public:
  double elapsed() const { return now() - start_; }
  double cores() const {
    const double others = (machine_busy_seconds() - busy_) - (own_processor_seconds() - own_);
    return std::max(0.0, others) / elapsed();
  }

 private:
  double start_ = now();
  double busy_ = machine_busy_seconds();
  double own_ = own_processor_seconds();
};

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double machine_busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
  file >> label >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
  return (user + nice + system + interrupts + soft + stolen) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double peak_resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

namespace {

Samples sample_device(const Settings& settings, const std::function<void()>& step) {
  constexpr int kWindows = 7, kMostCalls = 20;
  kusari::Event begin(settings.device), end(settings.device);
  const auto seconds_of = [&](int calls) {
    begin.record();
    for (int i = 0; i < calls; ++i) step();
    end.record();
    return end.seconds_since(begin) / calls;
  };
  for (int i = 0; i < 3; ++i) step();  // a static graph is recorded and replayed once
  kusari::synchronize(settings.device);
  const double fitting = settings.seconds / kWindows / seconds_of(1);
  const int calls = fitting < kMostCalls ? std::max(1, static_cast<int>(fitting)) : kMostCalls;
  for (int i = 0; i < calls / 3; ++i) step();
  Samples samples;
  for (int window = 0; window < kWindows; ++window) samples.values.push_back(seconds_of(calls));
  return samples;
}

}  // namespace

Samples sample(const Settings& settings, const std::function<void()>& step) {
  if (!settings.device.is_cpu()) return sample_device(settings, step);
  constexpr size_t kWindows = 9;
  for (int i = 0; i < 3; ++i) step();
  struct Window {
    double others, seconds;
  };
  std::vector<Window> windows;
  size_t quiet = 0;
  const double limit = settings.threads > 1 ? 0.1 : 0.6, length = std::max(0.2, settings.seconds / kWindows);
  const double start = now();
  while (quiet < kWindows && (windows.size() < kWindows || now() - start < settings.patience)) {
    const Neighbours neighbours;
    int calls = 0;
    do {
      step();
      ++calls;
    } while (neighbours.elapsed() < length);
    const double seconds = neighbours.elapsed() / calls, others = neighbours.cores();
    if (others <= limit) {
      ++quiet;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    windows.push_back({others, seconds});
  }
  std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) { return a.others < b.others; });
  windows.resize(kWindows);
  Samples samples;
  samples.others = windows.back().others;
  for (const Window& window : windows) samples.values.push_back(window.seconds);
  return samples;
}

int64_t batch_of(const Settings& settings, int64_t on_cpu, int64_t on_gpu) {
  if (settings.batch > 0) return settings.batch;
  return settings.device.is_cpu() ? on_cpu : on_gpu;
}

void report_device(const Settings& settings, const char* name, int64_t batch, const Samples& samples) {
  const double seconds = median(samples.values);
  std::printf(
      "{\"case\":\"%s\",\"impl\":\"kusari-%s\",\"mode\":\"%s\",\"device\":\"%s\",\"batch\":%lld,\"autotune\":%s,"
      "\"ms_per_step\":%.4f,\"min_ms\":%.4f,\"items_per_s\":%.1f,\"peak_mib\":%.0f}\n",
      name, KUSARI_VERSION, settings.mode.c_str(), settings.device.name().c_str(), static_cast<long long>(batch),
      settings.autotune ? "true" : "false", seconds * 1e3,
      *std::min_element(samples.values.begin(), samples.values.end()) * 1e3, static_cast<double>(batch) / seconds,
      static_cast<double>(kusari::cuda::max_memory_allocated(settings.device.index())) / (1 << 20));
  std::fflush(stdout);
}

namespace {

// ,"device":"...","mode":"..." and the most memory that arrays held, on a GPU.
std::string device_fields(const Settings& settings) {
  if (settings.device.is_cpu()) return "";
  const size_t peak = kusari::cuda::max_memory_allocated(settings.device.index()) >> 20;
  return ",\"device\":\"" + settings.device.name() + "\",\"mode\":\"" + settings.mode +
         "\",\"peak_mib\":" + std::to_string(peak);
}

}  // namespace

std::string static_graph_field(const Settings& settings) {
  return settings.static_graph == "off" ? "" : ",\"static_graph\":\"" + settings.static_graph + "\"";
}

void report(const Settings& settings, const char* bench, const char* unit, const Samples& samples, double scale,
            const std::string& more, const char* layout) {
  std::printf(
      "{\"bench\":\"%s\",\"impl\":\"kusari-%s\",\"threads\":%d,\"layout\":\"%s\",\"unit\":\"%s\",\"median\":%.4f,"
      "\"min\":%.4f,\"others\":%.2f%s%s}\n",
      bench, KUSARI_VERSION, settings.threads, layout, unit, median(samples.values) * scale,
      *std::min_element(samples.values.begin(), samples.values.end()) * scale, samples.others,
      device_fields(settings).c_str(), more.c_str());
  std::fflush(stdout);
}

}  // namespace bench
