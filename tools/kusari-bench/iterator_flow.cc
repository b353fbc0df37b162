#include "kusari/tools/kusari-bench/iterator_flow.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/version.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

/// Ticks that a process, its ended children and all processes below it have used.
int64_t ticks_of_tree(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;  // has ended
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;  // proc(5): field 14 is utime, then stime, cutime, cstime
  int64_t ticks = 0;
  for (int i = 14; i < 18; ++i) {
    int64_t value = 0;
    fields >> value;
    ticks += value;
  }
  std::error_code gone;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/" + process + "/task", gone)) {
    std::ifstream children(task.path() / "children");
    for (std::string child; children >> child;) ticks += ticks_of_tree(child);
  }
  return ticks;
}

double processor_seconds_of_tree() {
  return static_cast<double>(ticks_of_tree(std::to_string(getpid()))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

Flow sample_flow(const Settings& settings, const std::function<int64_t()>& step) {
  constexpr size_t kWindows = 9;
  constexpr double kQuiet = 0.1;  // cores
  struct Window {
    double others, examples_per_s, processor_us;
  };
  for (int i = 0; i < 3; ++i) step();
  const double length = std::max(0.5, settings.seconds / kWindows);
  std::vector<Window> windows;
  size_t quiet = 0;
  const double start = now();
  while (quiet < kWindows && (windows.size() < kWindows || now() - start < settings.patience)) {
    const double begin = now(), busy = machine_busy_seconds(), own = processor_seconds_of_tree();
    int64_t examples = 0;
    do {
      examples += step();
    } while (now() - begin < length);
    const double elapsed = now() - begin, used = processor_seconds_of_tree() - own;
    const double others = std::max(0.0, machine_busy_seconds() - busy - used) / elapsed;
    quiet += others <= kQuiet;
    windows.push_back({others, static_cast<double>(examples) / elapsed, 1e6 * used / static_cast<double>(examples)});
  }
  std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) { return a.others < b.others; });
  windows.resize(kWindows);
  Flow flow;
  flow.others = windows.back().others;
  for (const Window& window : windows) {
    flow.examples_per_s.push_back(window.examples_per_s);
    flow.processor_us.push_back(window.processor_us);
  }
  return flow;
}

void report_flow(const Settings& settings, const std::string& bench, const char* unit, const Flow& flow,
                 const std::string& more) {
  const auto [least, most] = std::minmax_element(flow.examples_per_s.begin(), flow.examples_per_s.end());
  std::printf(
      "{\"bench\":\"%s\",\"impl\":\"kusari-%s\",\"threads\":%d,\"unit\":\"%s\",\"median\":%.1f,\"min\":%.1f,"
      "\"max\":%.1f,\"processor_us\":%.2f,\"others\":%.2f%s}\n",
      bench.c_str(), KUSARI_VERSION, settings.threads, unit, median(flow.examples_per_s), *least, *most,
      median(flow.processor_us), flow.others, more.c_str());
  std::fflush(stdout);
}

kusari::iterators::IteratorRef make_iterator(const std::string& kind, const kusari::datasets::DatasetRef& dataset,
                                             int64_t batch_size, int64_t workers) {
  using namespace kusari::iterators;
  if (kind == "serial") return std::make_shared<SerialIterator>(dataset, batch_size);
  if (kind == "threads") {
    return std::make_shared<MultithreadIterator>(dataset, batch_size, MultithreadIteratorOptions{.n_threads = workers});
  }
  return std::make_shared<MultiprocessIterator>(dataset, batch_size,
                                                MultiprocessIteratorOptions{.n_processes = workers});
}

void for_each_loader(const Settings& settings,
                     const std::function<void(const std::string& kind, int64_t workers)>& measure) {
  for (const std::string& kind : settings.kinds) {
    if (kind == "serial") {
      measure(kind, 0);
      continue;
    }
    for (const int64_t workers : settings.workers) measure(kind, workers);
  }
}

}  // namespace bench
