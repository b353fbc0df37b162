#include "kusari/iterators/dataset_iterator.h"

#include <cxxabi.h>

#include <deque>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::iterators {
namespace {

// Batches ahead are planned at once, before the first is there.
constexpr int64_t kMaxPrefetch = 65536;

}  // namespace

/// A batch that was planned and not consumed.
struct DatasetIterator::Ahead {
  EpochState after;  // once it is consumed
  int64_t examples = 0;
  bool is_submitted = false;             // false: planning it failed
  std::exception_ptr failure = nullptr;  // to be thrown when the batch is due
  Owned<Batch> batch = nullptr;          // whoever peeked points to it, wherever this moves

  // All its examples failed, and failures are skipped.
  bool is_left_out() const noexcept { return batch && batch->empty() && examples > 0; }
};

/// In the order in which they are due.
struct DatasetIterator::Plan : std::deque<Ahead> {};

BatchLoader::~BatchLoader() = default;

void BatchLoader::prefer_device(const Device&) {}

void BatchLoader::finish() noexcept {}

DatasetIterator::DatasetIterator(const char* name, datasets::DatasetRef dataset, int64_t batch_size,
                                 const OrderOptions& options, int64_t n_prefetch)
    : name_{name},
      dataset_{std::move(dataset)},
      consumed_{name, dataset_->size(), batch_size, options},
      n_prefetch_{n_prefetch},
      ahead_{new Plan} {
  if (n_prefetch < 0) {
    throw ValueError(std::string(name) + ": n_prefetch is " + std::to_string(n_prefetch) + ": it must not be negative");
  }
  if (n_prefetch > kMaxPrefetch) {
    throw ValueError(std::string(name) + ": n_prefetch is " + std::to_string(n_prefetch) + ": it must be at most " +
                     std::to_string(kMaxPrefetch));
  }
}

DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept = default;
DatasetIterator::~DatasetIterator() = default;

std::exception_ptr DatasetIterator::caught() const {
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (...) {
    return std::current_exception();
  }
  return std::make_exception_ptr(OutOfMemoryError(std::string(name_) + ": memory has no room for a batch of " +
                                                  std::to_string(batch_size()) + " examples"));
}

bool DatasetIterator::plan(size_t count) {
  while (ahead_->size() < count) {
    if (!ahead_->empty() && !ahead_->back().is_submitted) return false;
    Ahead next{ahead_->empty() ? consumed_ : ahead_->back().after};
    try {
      if (!next.after.advance(dataset_->size(), keys_)) return false;
      next.examples = static_cast<int64_t>(keys_.size());
      loader_->submit(keys_);
      next.is_submitted = true;
    } catch (...) {
      next.failure = caught();
    }
    ahead_->push_back(std::move(next));
  }
  return true;
}

const Batch* DatasetIterator::load(size_t ahead, bool wait) {
  for (size_t i = 0; i <= ahead;) {
    plan(ahead + 1 + static_cast<size_t>(n_prefetch_));
    if (i >= ahead_->size()) return nullptr;
    if (!(*ahead_)[i].batch) {
      if ((*ahead_)[i].failure || (!wait && !loader_->is_ready())) return nullptr;
      try {
        (*ahead_)[i].batch = std::make_unique<Batch>(loader_->take());
      } catch (abi::__forced_unwind&) {  // a data set ends the caller's thread, which nobody may stop
        throw;
      } catch (...) {
        (*ahead_)[i].failure = caught();
        return nullptr;
      }
    }
    if ((*ahead_)[i].is_left_out()) {
      if (!leave_out(i)) return nullptr;
    } else {
      left_out_ = 0;
      ++i;
    }
  }
  return (*ahead_)[ahead].batch.get();
}

bool DatasetIterator::leave_out(size_t i) {
  if (!plan(i + 2)) return false;
  left_out_ += (*ahead_)[i].examples;
  (*ahead_)[i + 1].after.join((*ahead_)[i].after);
  ahead_->erase(ahead_->begin() + static_cast<std::ptrdiff_t>(i));
  if (left_out_ < 2 * dataset_->size() || (*ahead_)[i].failure) return true;
  (*ahead_)[i].failure = std::make_exception_ptr(StateError(std::string(name_) + ": " + std::to_string(left_out_) +
                                                            " examples in a row failed and were left out"));
  left_out_ = 0;
  return false;
}

const Batch* DatasetIterator::try_next() {
  current_.clear();
  const Batch* const loaded = load(0, true);
  if (loaded == nullptr && !ahead_->empty() && ahead_->front().failure) {
    const std::exception_ptr failure = std::exchange(ahead_->front().failure, nullptr);
    if (!ahead_->front().is_submitted) ahead_->pop_front();
    std::rethrow_exception(failure);
  }
  if (ahead_->empty()) {  // the end, which counts as a step
    consumed_.advance(dataset_->size(), keys_);
    return nullptr;
  }
  current_ = std::move(*ahead_->front().batch);
  consumed_ = std::move(ahead_->front().after);
  ahead_->pop_front();
  consumed_.discard_past();
  return loaded == nullptr ? nullptr : &current_;
}

const Batch* DatasetIterator::peek(int64_t ahead, bool wait) {
  if (ahead < 0) {
    throw ValueError(std::string(name_) + "::peek: ahead is " + std::to_string(ahead) + ": it must not be negative");
  }
  if (ahead > kMaxPrefetch) {
    throw ValueError(std::string(name_) + "::peek: ahead is " + std::to_string(ahead) + ": it must be at most " +
                     std::to_string(kMaxPrefetch));
  }
  return load(static_cast<size_t>(ahead), wait);
}

void DatasetIterator::prefer_device(const Device& device) { loader_->prefer_device(device); }

void DatasetIterator::drop_ahead() noexcept {
  loader_->cancel();
  ahead_->clear();
  left_out_ = 0;
}

void DatasetIterator::reset() {
  drop_ahead();
  consumed_.reset(dataset_->size());
}

void DatasetIterator::finalize() {
  drop_ahead();
  loader_->finish();
}

void DatasetIterator::serialize(Serializer& serializer) {
  consumed_.serialize(serializer);
  if (!serializer.is_writer()) drop_ahead();
}

}  // namespace kusari::iterators
