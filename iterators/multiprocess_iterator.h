#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/dataset_iterator.h"
#include "kusari/iterators/on_failure.h"
#include "kusari/iterators/order_samplers.h"

namespace kusari::iterators {

struct MultiprocessIteratorOptions {
  bool repeat = true;                          ///< go on with the next sweep
  std::optional<bool> shuffle = std::nullopt;  ///< true when not given
  int64_t n_processes = 0;                     ///< 0: as many as there are cores
  int64_t n_prefetch = 1;                      ///< batches loaded beside the one that is asked for
  /// Bytes of an example's arrays: every example then has a slot of that size, for examples that differ. Without it
  /// the first example is measured, and batches are laid out for examples like it.
  std::optional<int64_t> shared_mem = std::nullopt;
  std::optional<OrderSamplerRef> order_sampler = std::nullopt;  ///< in place of shuffle
  /// Seconds that next() waits for one example; without it, for ever.
  std::optional<double> dataset_timeout = 30.0;
  /// A worker process that prepared so many examples is replaced by a fresh one.
  std::optional<int64_t> maxtasksperchild = std::nullopt;
  OnFailure on_failure = OnFailure::raise;
  int64_t max_retries = 3;
};

/// Takes the examples of a data set with worker processes, while the program computes: the sequence, the epochs and the
/// examples are SerialIterator's, whatever the number of workers. Data sets need not be thread-safe, but see their
/// state as it was when the iterator was made; changes that they make in a worker are lost. They must not use CUDA.
/// Examples lie in memory that the processes share: a worker writes them there, concat_examples takes them from there
/// without a copy, and the memory is used again when no array views it any more.
/// next() throws what the data set threw in a worker, its text after the index of the example, and WorkerError when a
/// worker is killed, calls exit() or takes longer than dataset_timeout; or else what `on_failure` says. Whatever
/// happens, no process and no memory is left behind when the iterator, or its process, is gone.
/// An iterator belongs to the process that made it. Making one forks this process, which may have threads, and may have
/// used OpenMP and CUDA. MultithreadIterator needs less memory and starts faster; it is the better choice for data sets
/// that several threads may read.
/// Throws ValueError for values out of range, and for shuffle together with an order sampler; WorkerError when no
/// process can be started. chainer.iterators.MultiprocessIterator.
class KUSARI_API MultiprocessIterator final : public DatasetIterator {
 public:
  MultiprocessIterator(datasets::DatasetRef dataset, int64_t batch_size,
                       const MultiprocessIteratorOptions& options = {});
};

}  // namespace kusari::iterators
