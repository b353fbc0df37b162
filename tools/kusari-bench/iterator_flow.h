#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kusari/iterators/iterator.h"
#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// How fast examples come: one value per window.
struct Flow {
  std::vector<double> examples_per_s;
  std::vector<double> processor_us;  ///< per example, of this process and all below it
  double others = 0;                 ///< most cores that other programs used in a window
};

/// Calls `step`, which takes a batch and says how many examples it has, without a pause: after a warm-up of 3 calls,
/// windows of max(settings.seconds / 9, 0.5) s, until 9 were quiet or patience is over. The 9 quietest count. Workers
/// have loaded batches ahead when a window begins, and have when it ends.
Flow sample_flow(const Settings& settings, const std::function<int64_t()>& step);

/// Prints one line of JSON. `more`: further fields, with leading comma.
void report_flow(const Settings& settings, const std::string& bench, const char* unit, const Flow& flow,
                 const std::string& more);

/// "serial", "threads" or "processes": an iterator that shuffles and repeats. The first has no workers.
kusari::iterators::IteratorRef make_iterator(const std::string& kind, const kusari::datasets::DatasetRef& dataset,
                                             int64_t batch_size, int64_t workers);

/// Calls measure(kind, workers) for each kind and number of workers that the command line asks for.
void for_each_loader(const Settings& settings,
                     const std::function<void(const std::string& kind, int64_t workers)>& measure);

}  // namespace bench
