#include "kusari/framework/datasets/example_random.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/philox_numbers.h"

namespace kusari::datasets {
namespace {

__extension__ typedef unsigned __int128 uint128;

// Keeps clear of the planes from which the process's own stream draws.
constexpr uint32_t kExamplePlane = 0x80000000u;

// Spread the numbers 0, 1, 2, .. over all bits.
constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;
constexpr uint64_t kOddConstant = 0xd1b54a32d192ed03u;  // Source: Steele, Vigna 2021 (L64X128)

thread_local ExampleRandomScope* innermost = nullptr;

uint64_t pair_of(const PhiloxBlock& block, uint64_t place) {
  const uint64_t at = 2 * (place % 2);
  return (uint64_t{block.word[at]} << 32) | block.word[at + 1];
}

}  // namespace

ExampleRandom::ExampleRandom(uint64_t seed, int64_t epoch, int64_t index)
    : key_{pair_of(philox_block(seed, static_cast<uint64_t>(index), kExamplePlane + static_cast<uint32_t>(epoch)), 0)},
      block_{} {}

uint64_t ExampleRandom::bits() {
  if (place_ % 2 == 0) block_ = philox_block(key_, place_ / 2);
  return pair_of(block_, place_++);
}

double ExampleRandom::uniform(double low, double high) {
  const uint64_t drawn = bits();
  const double u = km::uniform_from(static_cast<uint32_t>(drawn >> 32), static_cast<uint32_t>(drawn));
  const double value = low + (high - low) * u;
  return value < high || low == high ? value : low;  // the sum may round up to high
}

int64_t ExampleRandom::integer(int64_t n) {
  if (n < 1) throw ValueError("ExampleRandom::integer: n is " + std::to_string(n) + ", it must be at least 1");
  // The high half of a 64 x 64 bit product is uniform on [0, n) up to 2^-64 n.
  return static_cast<int64_t>((static_cast<uint128>(bits()) * static_cast<uint64_t>(n)) >> 64);
}

double ExampleRandom::normal(double mean, double deviation) {
  const uint64_t first = bits(), second = bits();
  const double radius =
      km::normal_radius(km::positive_uniform_from(static_cast<uint32_t>(first >> 32), static_cast<uint32_t>(first)));
  const double angle =
      km::normal_angle(km::uniform_from(static_cast<uint32_t>(second >> 32), static_cast<uint32_t>(second)));
  return mean + deviation * (radius * km::cos(angle));
}

ExampleRandomScope::ExampleRandomScope(uint64_t seed, int64_t epoch, int64_t index) noexcept
    : seed_{seed},
      epoch_{epoch},
      index_{index},
      local_{seed + kGoldenRatio * static_cast<uint64_t>(epoch) + kOddConstant * static_cast<uint64_t>(index)},
      outer_{innermost} {
  innermost = this;
}

ExampleRandomScope::~ExampleRandomScope() { innermost = outer_; }

ExampleRandom ExampleRandomScope::stream(int64_t index) {
  if (innermost == nullptr) return ExampleRandom(random::bits(), 0, index);
  // Nothing is added for the example that the scope is of.
  const uint64_t other = static_cast<uint64_t>(innermost->index_) - static_cast<uint64_t>(index);
  const uint64_t seed = innermost->seed_ ^ (kGoldenRatio * innermost->streams_++);
  return ExampleRandom(seed + kOddConstant * other, innermost->epoch_, index);
}

}  // namespace kusari::datasets
