#include "kusari/cuda/plans/batch_normalization_grid.h"

#include <vector>

#include <doctest/doctest.h>

#include "unbacked_array.h"

namespace kusari::cuda::batch_norm {
namespace {

void check_grid_limits(const Grid& grid) {
  CHECK(grid.groups >= 1);
  CHECK(grid.groups <= testing::kMostBlocks);
  CHECK(grid.chunks >= 1);
  CHECK(grid.chunks <= testing::kMostBlocksAcross);
  CHECK(grid.chunk * grid.chunks >= grid.rows);
  CHECK((grid.chunks == 1 || grid.chunk * (grid.chunks - 1) < grid.rows));
  CHECK((int64_t{grid.groups} << grid.log_columns) >= grid.packs);
}

// Every pack of every row is some thread's, and no other's.
void check_cover(const Grid& grid) {
  check_grid_limits(grid);
  std::vector<int> visits(static_cast<size_t>(grid.rows * grid.packs));
  int64_t wrong = 0;
  for (int group = 0; group < grid.groups; ++group) {
    for (int part = 0; part < grid.chunks; ++part) {
      for (int thread = 0; thread < kThreads; ++thread) {
        const Place place(grid, static_cast<unsigned>(group), static_cast<unsigned>(part),
                          static_cast<unsigned>(thread));
        wrong += place.count > 0 && !place.is_inside(grid) ? 1 : 0;
        for (int i = 0; i < place.count; ++i) {
          const int64_t number = place.first + i * place.step;
          wrong += number % grid.packs == place.pack ? 0 : 1;
          // In this chunk, so that sums of chunks are of their own rows.
          wrong += number / grid.packs / grid.chunk == part ? 0 : 1;
          if (number >= grid.rows * grid.packs) {
            ++wrong;
          } else {
            ++visits[static_cast<size_t>(number)];
          }
        }
      }
    }
  }
  for (const int n : visits) wrong += n == 1 ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("batch normalization grid: every pack of channels of every row, once") {
  for (const int64_t channels : {8, 24, 56, 64, 264, 1000}) {
    for (const int pack : {1, 4, 8}) {
      for (const int64_t rows : {1, 2, 31, 32, 33, 127, 512}) {
        CAPTURE(channels);
        CAPTURE(pack);
        CAPTURE(rows);
        CHECK(Grid::takes_one_kernel(rows));
        check_cover(Grid(rows, channels, pack));
        check_cover(Grid(132, 4, rows, channels, pack));
      }
      check_cover(Grid(132, 4, 3001, channels, pack));
      check_cover(Grid(4, 3, 3001, channels, pack));
    }
  }
  CHECK_FALSE(Grid::takes_one_kernel(513));
}

TEST_CASE("batch normalization grid: blocks that all run at once, and many rows") {
  const int64_t huge = (int64_t{1} << 31) + 7;
  for (const int64_t rows : {int64_t{800000}, huge}) {
    for (const int64_t channels : {8, 64, 2048}) {
      const Grid grid(132, 4, rows, channels, 8);
      check_grid_limits(grid);
      CHECK(grid.groups * grid.chunks <= 132 * 4);
      CHECK(grid.groups * grid.chunks > 132 * 4 / 2);  // chunks are whole steps of a block
      const Place last(grid, static_cast<unsigned>(grid.groups - 1), static_cast<unsigned>(grid.chunks - 1), 0);
      CHECK(last.first + (last.count - 1) * last.step < rows * grid.packs);
      CHECK(last.first == (grid.chunk * (grid.chunks - 1)) * grid.packs + last.pack);
    }
  }
  // More groups than blocks that can run: one chunk each.
  CHECK(Grid(4, 3, 100000, 65536, 4).chunks == 1);
}

}  // namespace
}  // namespace kusari::cuda::batch_norm
