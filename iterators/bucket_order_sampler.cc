#include "kusari/iterators/bucket_order_sampler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/iterators/seed_mixing.h"

namespace kusari::iterators {

BucketOrderSampler::BucketOrderSampler(std::vector<int64_t> lengths, int64_t batch_size, const Options& options)
    : lengths_{std::move(lengths)},
      batch_size_{argument::positive("BucketOrderSampler", "batch_size", batch_size)},
      pool_{argument::positive("BucketOrderSampler", "pool", options.pool)},
      seed_{options.seed} {}

std::vector<int64_t> BucketOrderSampler::operator()(std::span<const int64_t> current_order, int64_t position) {
  const auto n = static_cast<int64_t>(current_order.size());
  if (n != static_cast<int64_t>(lengths_.size())) {
    throw ValueError("BucketOrderSampler: there are " + std::to_string(n) + " examples and " +
                     std::to_string(lengths_.size()) + " lengths: it must be one for each");
  }
  if (position < 0 || position > n) {
    throw ValueError("BucketOrderSampler: position is " + std::to_string(position) + ": it must be 0 .. " +
                     std::to_string(n));
  }
  const auto shuffled = [&](int64_t count) {
    return seed_ ? random::permutation(count, mixed(*seed_, draws_++)) : random::permutation(count);
  };
  std::vector<int64_t> order = shuffled(n);
  // What the last batch of the old sweep still lacks comes first.
  const int64_t left = n - position, first = left < batch_size_ ? std::min(batch_size_ - left, n) : 0;
  const int64_t pool = pool_ > n / batch_size_ ? std::max<int64_t>(n, 1) : pool_ * batch_size_;
  for (int64_t begin = first; begin < n; begin += pool) {
    std::stable_sort(order.begin() + begin, order.begin() + std::min(begin + pool, n), [&](int64_t a, int64_t b) {
      return lengths_[static_cast<size_t>(a)] < lengths_[static_cast<size_t>(b)];
    });
  }
  const int64_t whole = (n - first) / batch_size_;
  std::vector<int64_t> result(order.begin(), order.begin() + first);
  for (const int64_t batch : shuffled(whole)) {
    const auto begin = order.begin() + first + batch * batch_size_;
    result.insert(result.end(), begin, begin + batch_size_);
  }
  result.insert(result.end(), order.begin() + first + whole * batch_size_, order.end());
  return result;
}

void BucketOrderSampler::serialize(Serializer& serializer) {
  if (seed_ && serializer.contains("draws")) serialize_count(serializer, "draws", draws_);
}

}  // namespace kusari::iterators
