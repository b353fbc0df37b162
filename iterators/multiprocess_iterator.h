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

struct MultiprocessIteratorOptions {
  bool repeat = true;                          ///< go on with the next sweep
  std::optional<bool> shuffle = std::nullopt;  ///< true when not given
  int64_t n_processes = 0;                     ///< 0: as many as num_threads()
  int64_t n_prefetch = 1;                      ///< batches loaded while the caller uses another
  /// Bytes of an example's arrays, for examples that differ: each has a slot of that size. Without it the first example
  /// is measured, and batches are laid out for examples like it.
  std::optional<int64_t> shared_mem = std::nullopt;
  std::optional<OrderSamplerRef> order_sampler = std::nullopt;  ///< in place of shuffle
  std::optional<double> dataset_timeout = 30;                   ///< seconds for one example; none: for ever
  /// A worker that prepared about so many examples is replaced by a fresh one.
  std::optional<int64_t> maxtasksperchild = std::nullopt;
  OnFailure on_failure = OnFailure::raise;
  int64_t max_retries = 3;
  Shard shard = {};  ///< the part of each batch that this process takes
};

/// A SerialIterator whose batches are prepared ahead by processes: the same examples in the same order with the same
/// random numbers, whatever the number of processes, and the same counters. Data sets need not be thread-safe. Workers
/// see them as they were when the iterator was made, so no other thread may hold a lock of theirs then; what they
/// change in themselves is lost, and they must not use CUDA. Workers write examples into memory that the processes
/// share. concat_examples takes batches from there without a copy, and the memory is used again when no array views it
/// any more. When Dataset::get throws, next() throws the same class of Error, whose text names the example; anything
/// else that is thrown becomes an Error. A worker that is killed, calls exit(), or needs longer than dataset_timeout
/// for an example while next() waits makes a WorkerError. on_failure says what else to do. Whatever happens, no process
/// and no memory is left when the iterator, or its process, is gone. The constructor forks this process, which may have
/// threads and may have used OpenMP and CUDA; only that process can use the iterator. MultithreadIterator needs less
/// memory: take it where the data set is thread-safe. Throws ValueError for a batch size below 1, shuffle together with
/// an order sampler, and negative numbers; WorkerError when no process can be started.
/// chainer.iterators.MultiprocessIterator.
class KUSARI_API MultiprocessIterator final : public DatasetIterator {
 public:
  MultiprocessIterator(datasets::DatasetRef dataset, int64_t batch_size,
                       const MultiprocessIteratorOptions& options = {});

  int64_t n_processes() const noexcept { return n_processes_; }

 private:
  int64_t n_processes_;
};

}  // namespace kusari::iterators
