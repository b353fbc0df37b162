#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/iterators/batch_loader.h"
#include "kusari/iterators/epoch_state.h"
#include "kusari/iterators/iterator.h"

namespace kusari::iterators {

/// What the iterators over a data set share: sweeps and their counters, batches ahead, snapshots. A BatchLoader loads
/// the examples. Batches are planned and submitted by the caller's calls alone, so that what is drawn from random
/// streams, and when, is the same in every run.
class KUSARI_API DatasetIterator : public Iterator {
 public:
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;
  ~DatasetIterator() override;

  const Batch* try_next() override;
  const Batch* peek(int64_t ahead, bool wait = true) override;
  void prefer_device(const Device& device) override;
  datasets::Keys keys() const override { return dataset_->keys(); }
  int64_t epoch() const override { return consumed_.epoch(); }
  double epoch_detail() const override { return consumed_.epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override { return consumed_.previous_epoch_detail(); }
  bool is_new_epoch() const override { return consumed_.is_new_epoch(); }
  bool repeat() const override { return consumed_.repeat(); }
  void reset() override;
  void finalize() override;
  /// What was consumed; batches ahead are dropped on reading, and loaded again by another iterator that reads this.
  void serialize(Serializer& serializer) override;

  /// Of all shards together.
  int64_t batch_size() const noexcept { return consumed_.batch_size(); }
  const Shard& shard() const noexcept { return consumed_.shard(); }
  int64_t current_position() const noexcept { return consumed_.current_position(); }
  const datasets::Dataset& dataset() const noexcept { return *dataset_; }

 protected:
  /// `name` is the class's, for errors; it must outlive the iterator. With `n_prefetch` batches are submitted before
  /// they are asked for. Throws ValueError for a batch size below 1, one above the data set's and 2^24 with repeat, an
  /// n_prefetch that is negative or above 65536, and shuffle together with an order sampler.
  DatasetIterator(const char* name, datasets::DatasetRef dataset, int64_t batch_size, const OrderOptions& options,
                  int64_t n_prefetch = 0);
  /// Once, in the constructor of the derived class.
  void load_with(Owned<BatchLoader> loader) { loader_ = std::move(loader); }
  const datasets::DatasetRef& dataset_ref() const noexcept { return dataset_; }
  /// Examples of the sweep under way.
  int64_t epoch_size() const noexcept { return consumed_.epoch_size(); }

 private:
  struct Ahead;
  struct Plan;

  /// The exception that is being handled; where memory was short, an OutOfMemoryError.
  std::exception_ptr caught() const;
  bool plan(size_t count);
  const Batch* load(size_t ahead, bool wait);
  bool leave_out(size_t i);
  void drop_ahead() noexcept;

  const char* name_;
  datasets::DatasetRef dataset_;
  EpochState consumed_;
  int64_t n_prefetch_;
  Owned<Plan> ahead_;
  int64_t left_out_ = 0;  // examples since the last batch that had any
  Batch current_;
  std::vector<ExampleKey> keys_;  // of the batch being planned
  Owned<BatchLoader> loader_;
};

}  // namespace kusari::iterators
