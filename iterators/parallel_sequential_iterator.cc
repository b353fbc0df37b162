#include "kusari/iterators/parallel_sequential_iterator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::iterators {

ParallelSequentialIterator::ParallelSequentialIterator(Array words, int64_t batch_size, const Options& options)
    : batch_size_{argument::positive("ParallelSequentialIterator", "batch_size", batch_size)}, options_{options} {
  argument::not_negative("ParallelSequentialIterator", "window", options.window);
  if (!words.is_defined() || words.ndim() != 1 || !words.device().is_cpu()) {
    throw TypeError("ParallelSequentialIterator: words " +
                    (words.is_defined() ? "has shape " + to_string(words.shape()) + " on " + words.device().name()
                                        : std::string("is not given")) +
                    ": it must be a vector on the host");
  }
  if (words.size() == 0) throw ValueError("ParallelSequentialIterator: words is empty: there must be at least one");
  const Shard& shard = options.shard;
  if (shard.size < 1 || shard.rank < 0 || shard.rank >= shard.size || shard.size > batch_size) {
    throw ValueError("ParallelSequentialIterator: shard is " + std::to_string(shard.rank) + " of " +
                     std::to_string(shard.size) + " with batch_size " + std::to_string(batch_size) +
                     ": rank must be below size, and each must have a place");
  }
  words_ = words.contiguous();
}

double ParallelSequentialIterator::detail_at(int64_t time) const noexcept {
  return static_cast<double>(time) * static_cast<double>(batch_size_) / static_cast<double>(words_.size());
}

std::optional<double> ParallelSequentialIterator::previous_epoch_detail() const {
  return previous_time_ < 0 ? std::nullopt : std::optional<double>(detail_at(previous_time_));
}

// (batch_size) or the shard's rows of it: row b is at place b * n / batch_size of the text, so many words later.
Array ParallelSequentialIterator::words_at(int64_t time) const {
  const int64_t n = words_.size();
  const auto size = static_cast<size_t>(itemsize(words_.dtype()));
  const int64_t first = options_.shard.rank, step = options_.shard.size;
  const int64_t rows = batch_size_ > first ? (batch_size_ - first - 1) / step + 1 : 0;
  const Array result = empty({rows}, words_.dtype());
  for (int64_t row = 0; row < result.size(); ++row) {
    const int64_t b = first + row * step;
    const int64_t begin = n / batch_size_ * b + n % batch_size_ * b / batch_size_;  // b n / batch_size
    const int64_t place = (begin + time % n) % n;
    std::memcpy(static_cast<char*>(result.raw_data()) + static_cast<size_t>(row) * size,
                static_cast<const char*>(words_.raw_data()) + static_cast<size_t>(place) * size, size);
  }
  return result;
}

const Batch* ParallelSequentialIterator::try_next() {
  const int64_t n = words_.size(), times = (n - 1) / batch_size_ + 1;
  if (!options_.repeat && time_ >= times) return nullptr;
  const int64_t window = std::max<int64_t>(1, options_.window);
  const int64_t count = options_.repeat ? window : std::min(window, times - time_);
  Batch batch;
  Array words = words_at(time_);
  for (int64_t t = 0; t < count; ++t) {
    Array next = words_at(time_ + t + 1);
    if (options_.window > 0) {
      batch.push_back(datasets::Example{words, next});
    } else {
      for (int64_t b = 0; b < words.size(); ++b) {
        batch.push_back(datasets::Example{words.slice(0, b, 1).reshape({}), next.slice(0, b, 1).reshape({})});
      }
    }
    words = std::move(next);
  }
  batch_ = std::move(batch);
  previous_time_ = std::exchange(time_, time_ + count);
  const auto epoch = static_cast<int64_t>(detail_at(time_));
  is_new_epoch_ = epoch > epoch_;
  epoch_ = epoch;
  return &batch_;
}

void ParallelSequentialIterator::reset() {
  time_ = epoch_ = 0;
  previous_time_ = -1;
  is_new_epoch_ = false;
}

void ParallelSequentialIterator::serialize(Serializer& serializer) {
  serialize_count(serializer, "iteration", time_);
  serialize_count(serializer, "epoch", epoch_);
  serializer("is_new_epoch", is_new_epoch_);
  double previous = previous_epoch_detail().value_or(-1);
  if (serializer.is_writer() || serializer.contains("previous_epoch_detail")) {
    serializer("previous_epoch_detail", previous);
  } else {
    previous = detail_at(time_ - std::max<int64_t>(1, options_.window));
  }
  if (serializer.is_writer()) return;
  if (!(previous <= epoch_detail())) {  // also NaN
    throw ValueError(serializer.place("previous_epoch_detail") + "is " + std::to_string(previous) +
                     ": it must be before " + std::to_string(epoch_detail()) + ", where the iterator is");
  }
  const double times = previous * static_cast<double>(words_.size()) / static_cast<double>(batch_size_);
  previous_time_ = previous < 0 ? -1 : static_cast<int64_t>(times + 0.5);
}

}  // namespace kusari::iterators
