#include "kusari/iterators/multiprocess_iterator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/threads.h"
#include "kusari/iterators/process_loader.h"
#include "kusari/iterators/worker_options.h"

namespace kusari::iterators {
namespace {

constexpr const char* kMultiprocessIterator = "MultiprocessIterator";
constexpr int64_t kMaxProcesses = 65536;
constexpr int64_t kMaxBatch = (int64_t{1} << 31) - 1;   // rows have 32-bit numbers on the board
constexpr int64_t kMaxExampleBytes = int64_t{1} << 47;  // what a process can address

}  // namespace

MultiprocessIterator::MultiprocessIterator(datasets::DatasetRef dataset, int64_t batch_size,
                                           const MultiprocessIteratorOptions& options)
    : DatasetIterator(kMultiprocessIterator, std::move(dataset), batch_size,
                      {options.repeat, options.shuffle, options.order_sampler, options.shard}, options.n_prefetch),
      n_processes_{options.n_processes == 0 ? num_threads() : options.n_processes} {
  expect_option(kMultiprocessIterator, n_processes_ > 0 && n_processes_ <= kMaxProcesses, "n_processes",
                std::to_string(options.n_processes), "be positive and at most 65536, or 0 for all cores");
  expect_option(kMultiprocessIterator,
                options.shared_mem.value_or(0) >= 0 && options.shared_mem.value_or(0) <= kMaxExampleBytes, "shared_mem",
                std::to_string(options.shared_mem.value_or(0)), "be neither negative nor above 2^47");
  expect_option(kMultiprocessIterator, options.maxtasksperchild.value_or(1) > 0, "maxtasksperchild",
                std::to_string(options.maxtasksperchild.value_or(1)), "be positive");
  expect_worker_options(kMultiprocessIterator, options.dataset_timeout, options.max_retries);
  // Memory is for the batches that there can be.
  const int64_t longest = options.repeat ? batch_size : std::clamp<int64_t>(epoch_size(), 1, batch_size);
  expect_option(kMultiprocessIterator, longest <= kMaxBatch, "batch_size", std::to_string(batch_size), "be below 2^31");
  load_with(std::make_unique<ProcessLoader>(dataset_ref(),
                                            ProcessLoader::Options{.iterator = kMultiprocessIterator,
                                                                   .batch_size = longest,
                                                                   .n_processes = n_processes_,
                                                                   .n_prefetch = options.n_prefetch,
                                                                   .shared_mem = options.shared_mem,
                                                                   .timeout = options.dataset_timeout,
                                                                   .maxtasksperchild = options.maxtasksperchild,
                                                                   .on_failure = options.on_failure,
                                                                   .max_retries = options.max_retries}));
}

}  // namespace kusari::iterators
