#include "kusari/updaters/batch_feed.h"

#include <utility>

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
  Example arrays;
  int64_t number = 0;
  uint64_t source = 0;  // identity() of the batch
  Example held = {};    // its first example, so that an iterator does not use that memory again
};

struct BatchFeed::Failure {
  std::exception_ptr error;
  int64_t number;
  double epoch_detail;  // of the iterator
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

void BatchFeed::drop() noexcept {
  ahead_.clear();
  failure_.reset();
}

BatchFeed::Sent BatchFeed::send(const Batch& batch, int64_t number, bool ahead) const {
  const profiler::Range range("convert");
  const datasets::ExampleRandomScope scope(seed_, number, 2 * options_.place);
  if (!ahead) return {options_.converter.upload(batch, options_.device), number};
  return {options_.converter.upload(batch, options_.device), number, identity(batch),
          batch.empty() ? Example() : batch[0]};
}

Example BatchFeed::finish(Sent& sent) const {
  const profiler::Range range("convert");
  const datasets::ExampleRandomScope scope(seed_, sent.number, 2 * options_.place + 1);
  return options_.converter.finish(std::move(sent.arrays));
}

Example BatchFeed::take(const Batch& batch, int64_t number) {
  if (!ahead_.empty()) {
    if (ahead_.front().number == number && ahead_.front().source == identity(batch)) {
      Sent sent = std::move(ahead_.front());
      ahead_.pop_front();
      return finish(sent);
    }
    drop();
  }
  Sent sent = send(batch, number, false);
  return finish(sent);
}

Example BatchFeed::next() {
  throw_failure();
  if (options_.prefetch > 0 && !can_peek_) {
    const bool found = iterator_->peek(0) != nullptr;
    const Batch& batch = iterator_->next();
    if (!found) {
      throw ValueError(owner_ + ": prefetch is " + std::to_string(options_.prefetch) + ", but the iterator '" + name_ +
                       "' cannot look ahead: its peek() gives nothing");
    }
    can_peek_ = true;
    return take(batch, batches_++);
  }
  const Batch* batch = nullptr;
  {
    const profiler::Range range("load");
    batch = &iterator_->next();
  }
  return take(*batch, batches_++);
}

Example BatchFeed::convert(const Batch& batch) { return take(batch, batches_++); }

void BatchFeed::throw_failure() {
  const std::unique_ptr<Failure> failure = std::move(failure_);
  if (failure && failure->number == batches_ && failure->epoch_detail == iterator_->epoch_detail()) {
    std::rethrow_exception(failure->error);
  }
}

void BatchFeed::look_ahead() {
  if (!can_peek_ || failure_) return;
  const auto wanted = static_cast<size_t>(options_.prefetch);
  while (ahead_.size() < wanted) {
    const auto place = static_cast<int64_t>(ahead_.size());
    const Batch* batch = nullptr;
    try {
      const profiler::Range range("load");
      batch = iterator_->peek(place, place == 0);
    } catch (const std::exception&) {
      if (place == 0) failure_.reset(new Failure{std::current_exception(), batches_, iterator_->epoch_detail()});
      return;
    }
    if (batch == nullptr) return;
    try {
      ahead_.push_back(send(*batch, batches_ + place, true));
    } catch (const std::exception&) {
      return;  // its turn comes, and then it fails again
    }
  }
}

}  // namespace kusari::updaters
