#include "kusari/iterators/multiprocess_iterator.h"

#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/iterators/process_loader.h"

namespace kusari::iterators {
namespace {

constexpr const char* kName = "MultiprocessIterator";

}  // namespace

MultiprocessIterator::MultiprocessIterator(datasets::DatasetRef dataset, int64_t batch_size,
                                           const MultiprocessIteratorOptions& options)
    : DatasetIterator(kName, std::move(dataset), batch_size, {options.repeat, options.shuffle, options.order_sampler},
                      options.n_prefetch),
      n_processes_{options.n_processes == 0 ? num_threads() : options.n_processes} {
  const auto expect = [](bool holds, const char* option, const std::string& value, const char* rule) {
    if (!holds) throw ValueError(std::string(kName) + ": " + option + " is " + value + ": it must " + rule);
  };
  expect(n_processes_ > 0, "n_processes", std::to_string(options.n_processes), "be positive, or 0 for all cores");
  expect(options.shared_mem.value_or(0) >= 0, "shared_mem", std::to_string(options.shared_mem.value_or(0)),
         "not be negative");
  expect(!options.dataset_timeout || *options.dataset_timeout > 0, "dataset_timeout",
         std::to_string(options.dataset_timeout.value_or(0)), "be positive");
  expect(options.maxtasksperchild.value_or(1) > 0, "maxtasksperchild",
         std::to_string(options.maxtasksperchild.value_or(1)), "be positive");
  expect(options.max_retries >= 0, "max_retries", std::to_string(options.max_retries), "not be negative");
  load_with(std::make_unique<ProcessLoader>(dataset_ref(),
                                            ProcessLoader::Options{.iterator = kName,
                                                                   .batch_size = batch_size,
                                                                   .n_processes = n_processes_,
                                                                   .n_prefetch = options.n_prefetch,
                                                                   .shared_mem = options.shared_mem,
                                                                   .timeout = options.dataset_timeout,
                                                                   .maxtasksperchild = options.maxtasksperchild,
                                                                   .on_failure = options.on_failure,
                                                                   .max_retries = options.max_retries}));
}

}  // namespace kusari::iterators
