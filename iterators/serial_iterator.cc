#include "kusari/iterators/serial_iterator.h"

namespace kusari::iterators {

SerialIterator::SerialIterator(datasets::DatasetRef dataset, int64_t batch_size, const OrderOptions& options)
    : dataset_{std::move(dataset)}, state_{"SerialIterator", dataset_->size(), batch_size, options} {}

const Batch* SerialIterator::try_next() {
  if (!state_.advance(dataset_->size(), indices_)) return nullptr;
  batch_.resize(indices_.size());
  for (size_t i = 0; i < indices_.size(); ++i) batch_[i] = dataset_->get(indices_[i]);
  return &batch_;
}

}  // namespace kusari::iterators
