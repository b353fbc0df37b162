#pragma once

#include <cstdint>

namespace kusari {

/// Where in the stream of random numbers a kernel draws: number i comes from (seed, offset + i) alone.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;
  /// In a graph that a device replays: a number in its memory to be added to `offset` when the kernel runs; otherwise
  /// null.
  const uint64_t* base = nullptr;
};

}  // namespace kusari
