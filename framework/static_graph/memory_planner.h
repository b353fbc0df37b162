#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// When a block of memory is in use: from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;  ///< 0: takes no memory, whatever the steps
  int32_t first = 0;
  int32_t last = -1;
};

/// Where blocks lie in one arena.
struct Packing {
  std::vector<size_t> offsets;  ///< of each block, multiples of the alignment; 0 for those of 0 bytes
  size_t bytes = 0;             ///< of the arena
  size_t lower_bound = 0;       ///< the largest sum of bytes in use at one step: no arena is smaller
};

/// Packs blocks so that no two that are in use at the same step overlap, in an arena as small as it finds. The same
/// blocks get the same places every time. `alignment`: a power of two.
KUSARI_API Packing pack(std::span<const Lifetime> blocks, size_t alignment);

/// One Lifetime for each slot of the program. Those that do not live in the arena have 0 bytes: slots of other kinds
/// than intermediate, of Export::own, and those that no step uses. A slot of Export::arena stays to the end.
KUSARI_API std::vector<Lifetime> lifetimes(const Program& program);

/// The largest sum of bytes in use at one step.
KUSARI_API size_t largest_live_bytes(std::span<const Lifetime> blocks);

}  // namespace kusari::graphs
