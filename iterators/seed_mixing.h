#pragma once

#include <cstdint>

namespace kusari::iterators {

/// A 64-bit permutation after which seeds that follow each other give unrelated results.
/// Source: Steele, Lea and Flood 2014 (SplitMix64).
constexpr uint64_t mixed(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The seed of number `i` of a sequence that `seed` determines.
constexpr uint64_t mixed(uint64_t seed, int64_t i) noexcept {
  return mixed(mixed(seed) + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u);
}

}  // namespace kusari::iterators
