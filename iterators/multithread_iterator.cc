#include "kusari/iterators/multithread_iterator.h"

#include <memory>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/iterators/thread_loader.h"

namespace kusari::iterators {
namespace {

constexpr const char* kName = "MultithreadIterator";

}  // namespace

MultithreadIterator::MultithreadIterator(datasets::DatasetRef dataset, int64_t batch_size,
                                         const MultithreadIteratorOptions& options)
    : DatasetIterator(kName, std::move(dataset), batch_size, {options.repeat, options.shuffle, options.order_sampler},
                      options.n_prefetch),
      n_threads_{options.n_threads == 0 ? num_threads() : options.n_threads} {
  const auto expect = [](bool holds, const char* option, const std::string& value, const char* rule) {
    if (!holds) throw ValueError(std::string(kName) + ": " + option + " is " + value + ": it must " + rule);
  };
  expect(n_threads_ > 0, "n_threads", std::to_string(options.n_threads), "be positive, or 0 for all cores");
  expect(options.max_retries >= 0, "max_retries", std::to_string(options.max_retries), "not be negative");
  expect(!options.dataset_timeout || *options.dataset_timeout > 0, "dataset_timeout",
         std::to_string(options.dataset_timeout.value_or(0)), "be positive");
  load_with(std::make_unique<ThreadLoader>(dataset_ref(), ThreadLoaderOptions{.iterator = kName,
                                                                              .n_threads = n_threads_,
                                                                              .timeout = options.dataset_timeout,
                                                                              .on_failure = options.on_failure,
                                                                              .max_retries = options.max_retries}));
}

}  // namespace kusari::iterators
