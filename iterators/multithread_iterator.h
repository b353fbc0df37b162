#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/dataset_iterator.h"
#include "kusari/iterators/on_failure.h"
#include "kusari/iterators/order_samplers.h"
#include "kusari/iterators/shard.h"

namespace kusari::iterators {

struct MultithreadIteratorOptions {
  bool repeat = true;                                           ///< go on with the next sweep
  std::optional<bool> shuffle = std::nullopt;                   ///< true when not given
  int64_t n_threads = 0;                                        ///< 0: as many as num_threads()
  int64_t n_prefetch = 1;                                       ///< batches loaded while the caller uses another
  std::optional<OrderSamplerRef> order_sampler = std::nullopt;  ///< in place of shuffle
  std::optional<double> dataset_timeout = 30;                   ///< seconds for one example; none: for ever
  OnFailure on_failure = OnFailure::raise;
  int64_t max_retries = 3;
  Shard shard = {};  ///< the part of each batch that this process takes
};

/// A SerialIterator whose batches are prepared ahead by threads: the same examples in the same order with the same
/// random numbers, whatever the number of threads, and the same counters. Dataset::get is called by several threads at
/// once.
/// When it throws, next() throws the same class of Error, whose text names the example; anything else that is thrown
/// becomes an Error. An example that takes longer than dataset_timeout, or ends its thread (pthread_exit), makes a
/// WorkerError. on_failure says what else to do. A thread cannot be ended by force: another takes the place of one that
/// is stuck, which the iterator leaves behind; the data set must outlive such a thread.
/// There are never more threads than examples under way, and fewer, with a warning, where the system gives no more;
/// without any, next() throws WorkerError.
/// Throws ValueError for a batch size below 1, one above the data set's and 2^24 with repeat, shuffle together with an
/// order sampler, negative numbers, more than 4096 threads and an n_prefetch above 65536.
/// chainer.iterators.MultithreadIterator.
class KUSARI_API MultithreadIterator final : public DatasetIterator {
 public:
  MultithreadIterator(datasets::DatasetRef dataset, int64_t batch_size, const MultithreadIteratorOptions& options = {});

  int64_t n_threads() const noexcept { return n_threads_; }

 private:
  int64_t n_threads_;
};

}  // namespace kusari::iterators
