#include "kusari/updaters/batch_feed.h"

#include <memory>
#include <utility>

#include "kusari/framework/core/deferred_copies.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::updaters {

using datasets::Example;
using iterators::Batch;

namespace {

/// By which a batch that was looked at can be recognised: the identities of its examples' memory, which are never used
/// twice, and their places in it.
uint64_t identity(const Batch& batch) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;  // Source: Steele, Lea and Flood 2014 (SplitMix64)
  uint64_t hash = batch.size();
  const auto mix = [&](uint64_t bits) {
    hash = (hash ^ bits) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (const Example& example : batch) {
    mix(example.size());
    for (const Array& array : example) {
      if (!array.is_defined()) continue;
      mix(array.storage().id);
      mix(array.storage().generation.load(std::memory_order_relaxed));
      mix(reinterpret_cast<uintptr_t>(array.raw_data()));
    }
  }
  return hash;
}

}  // namespace

struct BatchFeed::Sent {
  int64_t number;
  uint64_t source;  // identity() of the batch
  Example held;     // its first example, so that an iterator does not use that memory again
  Example arrays = {};
  std::unique_ptr<DeferredCopies> copies = {};
};

BatchFeed::BatchFeed(std::string owner, std::string name, iterators::IteratorRef iterator, Options options)
    : owner_{std::move(owner)}, name_{std::move(name)}, iterator_{std::move(iterator)}, options_{std::move(options)} {
  if (!options_.converter) options_.converter = datasets::concat_converter();
  iterator_->prefer_device(options_.device);
}
BatchFeed::BatchFeed(BatchFeed&&) noexcept = default;
BatchFeed& BatchFeed::operator=(BatchFeed&&) noexcept = default;
BatchFeed::~BatchFeed() = default;

void BatchFeed::set_seed(uint64_t seed) {
  drop();
  seed_ = seed;
}

void BatchFeed::set_batches(int64_t batches) {
  drop();
  batches_ = batches;
}

void BatchFeed::drop() noexcept { ahead_.clear(); }

Example BatchFeed::upload(const Batch& batch, int64_t number) const {
  const datasets::ExampleRandomScope scope(seed_, number, 2 * options_.place);
  return options_.converter.upload(batch, options_.device);
}

BatchFeed::Sent BatchFeed::send_ahead(const Batch& batch, int64_t number) const {
  const profiler::Range range("convert");
  Sent sent{.number = number, .source = identity(batch), .held = batch.empty() ? Example() : batch[0]};
  if (options_.converter.has_finish()) sent.copies = std::make_unique<DeferredCopies>();
  sent.arrays = upload(batch, number);
  if (sent.copies) sent.copies->close();
  return sent;
}

Example BatchFeed::finish(Example uploaded, int64_t number) const {
  const datasets::ExampleRandomScope scope(seed_, number, 2 * options_.place + 1);
  return options_.converter.finish(std::move(uploaded));
}

Example BatchFeed::take(const Batch& batch, int64_t number) {
  const profiler::Range range("convert");
  if (!ahead_.empty() && ahead_.front().number == number && ahead_.front().source == identity(batch)) {
    Sent sent = std::move(ahead_.front());
    ahead_.erase(ahead_.begin());
    if (sent.copies) sent.copies->join();
    return finish(std::move(sent.arrays), number);
  }
  drop();
  return finish(upload(batch, number), number);
}

std::optional<Example> BatchFeed::try_next() {
  const bool must_peek = options_.prefetch > 0 && !can_peek_;
  const Batch* batch = nullptr;
  {
    const profiler::Range range("load");
    if (must_peek) can_peek_ = iterator_->peek(0) != nullptr;
    batch = iterator_->try_next();
  }
  if (batch == nullptr) return std::nullopt;
  if (batch->empty()) {
    throw ValueError(owner_ + ": the iterator '" + name_ + "' gave a batch without examples: its data set is empty");
  }
  if (must_peek && !can_peek_) {
    throw ValueError(owner_ + ": prefetch is " + std::to_string(options_.prefetch) + ", but the iterator '" + name_ +
                     "' cannot look ahead: its peek() gives nothing");
  }
  if (batch->empty()) {
    throw ValueError(owner_ + ": the iterator '" + name_ + "' gave a batch without examples: is its data set empty?");
  }
  return take(*batch, batches_++);
}

Example BatchFeed::next() {
  std::optional<Example> arrays = try_next();
  if (!arrays) {
    throw StateError(owner_ + ": the sweep of the iterator '" + name_ +
                     "' is over and it does not repeat; reset() starts again");
  }
  return std::move(*arrays);
}

Example BatchFeed::convert(const Batch& batch) { return take(batch, batches_++); }

void BatchFeed::look_ahead() {
  if (!can_peek_) return;
  try {
    while (static_cast<int64_t>(ahead_.size()) < options_.prefetch) {
      const auto place = static_cast<int64_t>(ahead_.size());
      const Batch* const batch = iterator_->peek(place, place == 0);
      if (batch == nullptr) return;
      ahead_.push_back(send_ahead(*batch, batches_ + place));
    }
  } catch (const std::exception&) {
    // Those before it are as if this batch had not been looked at.
  }
}

}  // namespace kusari::updaters
