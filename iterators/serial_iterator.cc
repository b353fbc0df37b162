#include "kusari/iterators/serial_iterator.h"

#include <deque>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "kusari/framework/datasets/example_random.h"

namespace kusari::iterators {
namespace {

class SerialLoader final : public BatchLoader {
 public:
  explicit SerialLoader(datasets::DatasetRef dataset) : dataset_{std::move(dataset)} {}

  void submit(std::span<const ExampleKey> keys) override { submitted_.emplace_back(keys.begin(), keys.end()); }
  bool is_ready() override { return false; }
  Batch take() override {
    try {
      load(submitted_.front());
    } catch (const std::bad_alloc&) {
      oldest_ = {};  // or nothing else would have memory
      throw;
    }
    submitted_.pop_front();
    return std::exchange(oldest_, {});
  }
  void cancel() noexcept override {
    submitted_.clear();
    oldest_.clear();
  }

 private:
  void load(const std::vector<ExampleKey>& keys) {
    oldest_.reserve(keys.size());
    while (oldest_.size() < keys.size()) {
      const ExampleKey& key = keys[oldest_.size()];
      const datasets::ExampleRandomScope scope(key.seed, key.epoch, key.index);
      oldest_.push_back(dataset_->get(key.index));
    }
  }

  datasets::DatasetRef dataset_;
  std::deque<std::vector<ExampleKey>> submitted_;
  Batch oldest_;  // its examples so far
};

}  // namespace

SerialIterator::SerialIterator(datasets::DatasetRef dataset, int64_t batch_size, const OrderOptions& options)
    : DatasetIterator("SerialIterator", std::move(dataset), batch_size, options) {
  load_with(std::make_unique<SerialLoader>(dataset_ref()));
}

}  // namespace kusari::iterators
