#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/epoch_state.h"
#include "kusari/iterators/iterator.h"

namespace kusari::iterators {

/// Takes the examples of a data set one after the other in this thread. A batch that reaches over the end of a sweep is
/// filled up from the next one; without `repeat` the last batch is shorter. With `shuffle` (the default) every sweep
/// has its own random order.
/// Throws ValueError for a batch size below 1, and for shuffle together with an order sampler.
/// chainer.iterators.SerialIterator.
class KUSARI_API SerialIterator final : public Iterator {
 public:
  SerialIterator(datasets::DatasetRef dataset, int64_t batch_size, const OrderOptions& options = {});

  const Batch* try_next() override;
  int64_t epoch() const override { return state_.epoch(); }
  double epoch_detail() const override { return state_.epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override { return state_.previous_epoch_detail(); }
  bool is_new_epoch() const override { return state_.is_new_epoch(); }
  bool repeat() const override { return state_.repeat(); }
  void reset() override { state_.reset(dataset_->size()); }
  void serialize(Serializer& serializer) override { state_.serialize(serializer); }

  int64_t batch_size() const noexcept { return state_.batch_size(); }
  int64_t current_position() const noexcept { return state_.current_position(); }
  const datasets::Dataset& dataset() const noexcept { return *dataset_; }

 private:
  datasets::DatasetRef dataset_;
  EpochState state_;
  std::vector<int64_t> indices_;
  Batch batch_;
};

}  // namespace kusari::iterators
