#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/device.h"

namespace bench {

/// What the command line says about every case.
struct Settings {
  int threads = 1;
  double seconds = 3;    ///< spent on one measurement
  double patience = 60;  ///< how long to wait for a quiet machine
  bool autotune = false;
  bool save_memory = false;
  std::string static_graph = "off";  ///< what is recorded and replayed: off, model or step
  bool session = false;              ///< the cases that infer use an InferenceSession
  int traffic = 0;  ///< count what a training step asks of the device instead of timing it; 2: list the launches too
  bool gradient_times = false;   ///< tell when in a training step each gradient is final instead of timing steps
  bool replay_overhead = false;  ///< a replayed training step beside the sum of its kernels
  kusari::Device device = {};
  kusari::DtypePolicy dtype = kusari::Dtype::float32;
  std::string mode = "float32";           ///< the dtype by name, with what else changes the arithmetic
  int64_t batch = 0;                      ///< 0: the case's own
  std::string images;                     ///< of the cases jpeg and iterator, which are skipped without
  std::vector<int64_t> workers = {1, 2};  ///< of the iterators
  std::vector<std::string> kinds = {"serial", "threads", "processes"};
  std::string pixels = "float32";  ///< of the batches of case iterator
  std::string decode = "part";     ///< how much of a photo case iterator decodes
};

/// Measured values and how many cores other programs used meanwhile.
struct Samples {
  std::vector<double> values;
  double others = 0;
};

/// Seconds on a clock that only goes forward.
double now();
double median(std::vector<double> values);
/// Seconds of all processors that were neither idle nor waiting for a disk, since the machine started.
double machine_busy_seconds();
/// Resident memory now and at its highest.
double resident_mib();
double peak_resident_mib();

/// Seconds per call of `step`: 3 calls to warm up, then 9 windows of seconds / 9 each, at least 0.2 s and one call. A
/// window in which other programs used more than 0.6 core (0.1 with several threads) is repeated while patience lasts;
/// the 9 quietest count. On a GPU: calls to warm up, then 7 windows of 20 calls, or of as many as fit into `seconds`,
/// between events.
Samples sample(const Settings& settings, const std::function<void()>& step);

/// The batch to measure with: that of the command line, else the one for the processor or for a GPU.
int64_t batch_of(const Settings& settings, int64_t on_cpu, int64_t on_gpu);

/// Prints one line of JSON for a step on a GPU: its median and least time, items (examples) per second, and the most
/// memory that arrays held.
void report_device(const Settings& settings, const char* name, int64_t batch, const Samples& samples);

/// ,"static_graph":"..." if something is replayed.
std::string static_graph_field(const Settings& settings);

/// Prints one line of JSON: median and least of the values times `scale`. `more`: further fields, with leading comma.
/// `layout`: of images in memory.
void report(const Settings& settings, const char* bench, const char* unit, const Samples& samples, double scale,
            const std::string& more = "", const char* layout = "plain");

}  // namespace bench
