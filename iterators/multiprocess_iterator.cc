#include "kusari/iterators/multiprocess_iterator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/iterators/process_loader.h"

namespace kusari::iterators {
namespace {

constexpr const char* kName = "MultiprocessIterator";

template <class T>
void check_at_least(T least, const char* option, T value) {
  if (value >= least) return;
  throw ValueError(std::string(kName) + ": " + option + " is " + std::to_string(value) + ": it must be at least " +
                   std::to_string(least));
}

int64_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

MultiprocessIterator::MultiprocessIterator(datasets::DatasetRef dataset, int64_t batch_size,
                                           const MultiprocessIteratorOptions& options)
    : DatasetIterator(kName, std::move(dataset), batch_size,
                      {.repeat = options.repeat, .shuffle = options.shuffle, .order_sampler = options.order_sampler},
                      options.n_prefetch) {
  check_at_least<int64_t>(0, "n_processes", options.n_processes);
  check_at_least<int64_t>(0, "shared_mem", options.shared_mem.value_or(0));
  check_at_least<int64_t>(1, "maxtasksperchild", options.maxtasksperchild.value_or(1));
  check_at_least<int64_t>(0, "max_retries", options.max_retries);
  if (options.dataset_timeout && !(*options.dataset_timeout > 0)) {
    throw ValueError(std::string(kName) + ": dataset_timeout is " + std::to_string(*options.dataset_timeout) +
                     ": it must be positive");
  }
  load_with(std::make_unique<ProcessLoader>(
      dataset_ref(), ProcessLoader::Options{.name = kName,
                                            .batch_size = batch_size,
                                            .n_processes = options.n_processes > 0 ? options.n_processes : cores(),
                                            .n_prefetch = options.n_prefetch,
                                            .shared_mem = options.shared_mem,
                                            .dataset_timeout = options.dataset_timeout,
                                            .maxtasksperchild = options.maxtasksperchild,
                                            .on_failure = options.on_failure,
                                            .max_retries = options.max_retries}));
}

}  // namespace kusari::iterators
