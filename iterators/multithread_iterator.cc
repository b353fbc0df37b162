#include "kusari/iterators/multithread_iterator.h"

#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/threads.h"
#include "kusari/iterators/thread_loader.h"
#include "kusari/iterators/worker_options.h"

namespace kusari::iterators {
namespace {

constexpr const char* kMultithreadIterator = "MultithreadIterator";
constexpr int64_t kMaxThreads = 4096;

}  // namespace

MultithreadIterator::MultithreadIterator(datasets::DatasetRef dataset, int64_t batch_size,
                                         const MultithreadIteratorOptions& options)
    : DatasetIterator(kMultithreadIterator, std::move(dataset), batch_size,
                      {options.repeat, options.shuffle, options.order_sampler, options.shard}, options.n_prefetch),
      n_threads_{options.n_threads == 0 ? num_threads() : options.n_threads} {
  expect_option(kMultithreadIterator, n_threads_ > 0 && n_threads_ <= kMaxThreads, "n_threads",
                std::to_string(options.n_threads), "be positive and at most 4096, or 0 for all cores");
  expect_worker_options(kMultithreadIterator, options.dataset_timeout, options.max_retries);
  load_with(std::make_unique<ThreadLoader>(dataset_ref(), ThreadLoaderOptions{.iterator = kMultithreadIterator,
                                                                              .n_threads = n_threads_,
                                                                              .timeout = options.dataset_timeout,
                                                                              .on_failure = options.on_failure,
                                                                              .max_retries = options.max_retries}));
}

}  // namespace kusari::iterators
