#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// A SerialIterator that prepares the examples of a batch in several threads. Random transforms give the same images
// whatever the number of threads.
class LoaderIterator : public kusari::iterators::Iterator {
 public:
  LoaderIterator(kusari::datasets::DatasetRef dataset, int64_t batch_size, int64_t jobs,
                 const kusari::iterators::OrderOptions& options = {})
      : dataset_{std::move(dataset)}, state_{"LoaderIterator", dataset_->size(), batch_size, options}, jobs_{jobs} {}

  const kusari::iterators::Batch* try_next() override {
    if (!state_.advance(dataset_->size(), keys_)) return nullptr;
    batch_.assign(keys_.size(), {});
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t k = next++; k < keys_.size(); k = next++) {
        const kusari::datasets::ExampleRandomScope scope(keys_[k].seed, keys_[k].epoch, keys_[k].index);
        batch_[k] = dataset_->get(keys_[k].index);
      }
    };
    const kusari::ConfigSnapshot config;
    std::vector<std::future<void>> workers;
    for (int64_t i = 1; i < jobs_; ++i) {
      workers.push_back(std::async(std::launch::async, [&] {
        config.install();
        work();
      }));
    }
    work();
    for (auto& worker : workers) worker.get();
    return &batch_;
  }
  int64_t epoch() const override { return state_.epoch(); }
  double epoch_detail() const override { return state_.epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override { return state_.previous_epoch_detail(); }
  bool is_new_epoch() const override { return state_.is_new_epoch(); }
  bool repeat() const override { return state_.repeat(); }
  void reset() override { state_.reset(dataset_->size()); }
  void serialize(kusari::Serializer& serializer) override { state_.serialize(serializer); }

 private:
  kusari::datasets::DatasetRef dataset_;
  kusari::iterators::EpochState state_;
  int64_t jobs_;
  std::vector<kusari::iterators::ExampleKey> keys_;
  kusari::iterators::Batch batch_;
};
