#pragma once

#include <cstdint>

namespace kusari::cuda {

/// `blocks` blocks that cover n items with `per_block` each, at most `most`: for kernels that stride over the grid.
inline unsigned blocks_for(int64_t n, int64_t per_block, int64_t most = 0x7fffffff) {
  const int64_t blocks = (n + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

}  // namespace kusari::cuda
