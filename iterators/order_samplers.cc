#include "kusari/iterators/order_samplers.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::iterators {
namespace {

// Sources: Steele, Lea and Flood 2014 (SplitMix64). Seeds that follow each other give unrelated results.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

OrderSampler::~OrderSampler() = default;

void OrderSampler::serialize(Serializer&) {}

std::vector<int64_t> ShuffleOrderSampler::operator()(std::span<const int64_t> current_order, int64_t) {
  const int64_t n = static_cast<int64_t>(current_order.size());
  if (!seed_) return random::permutation(n);
  return random::permutation(n, mix(mix(*seed_) + static_cast<uint64_t>(draws_++) * 0x9e3779b97f4a7c15u));
}

void ShuffleOrderSampler::serialize(Serializer& serializer) {
  // Chainer's files know no such entry.
  if (seed_ && serializer.contains("draws")) serializer("draws", draws_);
}

}  // namespace kusari::iterators
