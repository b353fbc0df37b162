#include "kusari/cuda/plans/block_count.h"

#include <cstdint>
#include <initializer_list>

#include <doctest/doctest.h>

namespace kusari::cuda {
namespace {

TEST_CASE("block count: enough blocks, one at least, no more than allowed") {
  CHECK(blocks_for(0, 256) == 1);
  CHECK(blocks_for(1, 256) == 1);
  for (const int64_t n : {int64_t{31}, int64_t{256}, int64_t{257}, int64_t{1009}, (int64_t{1} << 31) + 7}) {
    for (const int64_t per_block : {1, 3, 256, 1024}) {
      const int64_t blocks = blocks_for(n, per_block);
      CHECK((blocks * per_block >= n || blocks == 0x7fffffff));
      CHECK((blocks - 1) * per_block < n);
    }
  }
  CHECK(blocks_for((int64_t{1} << 31) + 7, 1) == 0x7fffffff);
  CHECK(blocks_for(int64_t{1} << 50, 256, 4224) == 4224);
  CHECK(blocks_for(4224 * 256, 256, 4224) == 4224);
  CHECK(blocks_for(4223 * 256, 256, 4224) == 4223);
}

}  // namespace
}  // namespace kusari::cuda
