#pragma once

#include <algorithm>
#include <cstdint>

#include "kusari/framework/core/host_device.h"

// Rows of channels, cut into packs of channels and chunks of rows: one block for each (group of packs, chunk). Chunks
// depend on sizes and the device alone.
namespace kusari::cuda::batch_norm {

inline constexpr int kThreads = 256;
/// Rows whose loads a thread has under way, where it reads one array; half as many where it reads more.
inline constexpr int kRowsAtOnce = 4;

/// How the rows are shared out. Kernels know the channels of a pack.
struct Grid {
  int64_t rows = 0;
  int64_t chunk = 0;    ///< rows of a block
  int packs = 0;        ///< of a row
  int log_columns = 0;  ///< threads side by side in a row
  int chunks = 0, groups = 0;

  Grid(int multiprocessors, int blocks, int64_t rows_, int64_t channels, int pack) : rows{rows_} {
    packs = static_cast<int>(channels / pack);
    while (log_columns < 5 && (1 << log_columns) < packs) ++log_columns;
    groups = (packs + (1 << log_columns) - 1) >> log_columns;
    const int64_t wanted = std::max(1, multiprocessors * blocks / groups);  // all run at once
    const int64_t step = static_cast<int64_t>(kThreads >> log_columns) * kRowsAtOnce;
    chunk = std::max<int64_t>(1, ((rows + wanted - 1) / wanted + step - 1) / step) * step;
    chunks = std::max(1, static_cast<int>((rows + chunk - 1) / chunk));
  }
  /// Few rows: each block has all of them for a few packs, so that one kernel does everything.
  static bool takes_one_kernel(int64_t rows_) { return rows_ <= 512; }
  Grid(int64_t rows_, int64_t channels, int pack)
      : rows{rows_}, chunk{rows_}, packs{static_cast<int>(channels / pack)}, chunks{1} {
    while (log_columns < 3 && (1 << log_columns) < packs) ++log_columns;
    groups = (packs + (1 << log_columns) - 1) >> log_columns;
  }
};

/// The packs that a thread visits: number `first` + k `step` for k < count.
struct Place {
  int64_t first, step;
  int count;
  int pack;  ///< within the row
  int lane, lanes;
  int rows;  ///< of the block

  KUSARI_HOST_DEVICE Place(const Grid& grid, unsigned group, unsigned part, unsigned thread_number) {
    const int thread = static_cast<int>(thread_number);
    pack = static_cast<int>(group) * (1 << grid.log_columns) + (thread & ((1 << grid.log_columns) - 1));
    lane = thread >> grid.log_columns;
    lanes = kThreads >> grid.log_columns;
    const int64_t begin = part * grid.chunk, left = grid.rows - begin;
    rows = static_cast<int>(left < grid.chunk ? left : grid.chunk);
    count = lane < rows ? (rows - lane + lanes - 1) / lanes : 0;
    first = (begin + lane) * grid.packs + pack;
    step = static_cast<int64_t>(lanes) * grid.packs;
    if (pack >= grid.packs) count = 0;
  }
  KUSARI_HOST_DEVICE bool is_inside(const Grid& grid) const { return pack < grid.packs; }
};

}  // namespace kusari::cuda::batch_norm
