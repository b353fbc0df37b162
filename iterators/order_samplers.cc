#include "kusari/iterators/order_samplers.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/iterators/seed_mixing.h"

namespace kusari::iterators {

OrderSampler::~OrderSampler() = default;

int64_t OrderSampler::sweep_size(int64_t examples) const { return examples; }

void OrderSampler::serialize(Serializer&) {}

std::vector<int64_t> ShuffleOrderSampler::operator()(std::span<const int64_t> current_order, int64_t) {
  const int64_t n = static_cast<int64_t>(current_order.size());
  if (!seed_) return random::permutation(n);
  return shuffled_order(n, *seed_, draws_++);
}

std::vector<int64_t> shuffled_order(int64_t n, uint64_t seed, int64_t draw) {
  return random::permutation(n, mixed(seed, draw));
}

void ShuffleOrderSampler::serialize(Serializer& serializer) {
  // Chainer's files know no such entry.
  if (seed_ && serializer.contains("draws")) serialize_count(serializer, "draws", draws_);
}

}  // namespace kusari::iterators
