#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/dataset_iterator.h"

namespace kusari::iterators {

/// Takes the examples of a data set one after the other in this thread. A batch that reaches over the end of a sweep is
/// filled up from the next one; without `repeat` the last batch is shorter. With `shuffle` (the default) every sweep
/// has its own random order.
/// Random numbers that data sets draw are those of an ExampleRandomScope around every example. Exceptions of the data
/// set leave next(), which then tries the same batch again.
/// Throws ValueError for a batch size below 1, and for shuffle together with an order sampler.
/// chainer.iterators.SerialIterator.
class KUSARI_API SerialIterator final : public DatasetIterator {
 public:
  SerialIterator(datasets::DatasetRef dataset, int64_t batch_size, const OrderOptions& options = {});
};

}  // namespace kusari::iterators
