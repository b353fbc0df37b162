#pragma once

#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/runtime/context.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::cuda {

inline constexpr int64_t kNoRow = -1;

/// Indices as rows in [0, rows), or kNoRow for those that stand for none or are out of range.
struct RowIndex {
  const void* data;
  Dtype dtype;
  int64_t stride;  // elements
  int64_t count;
  int64_t rows;
  bool has_ignored;
  int64_t ignored;

  RowIndex(const kernels::RowLookup& lookup, const Array& index, int64_t row_count)
      : data{index.raw_data()},
        dtype{index.dtype()},
        stride{index.strides()[0]},
        count{index.size()},
        rows{row_count},
        has_ignored{lookup.has_ignored},
        ignored{lookup.ignored} {}

  __device__ __forceinline__ int64_t row(int64_t i) const {
    const int64_t given = load_integer(data, dtype, i * stride);
    if (has_ignored && given == ignored) return kNoRow;
    const int64_t place = given < 0 ? given + rows : given;
    return place >= 0 && place < rows ? place : kNoRow;
  }
};

using RowKey = unsigned long long;

/// row(i) << bits | i for each place i of an index, in ascending order, those without a row behind all others: the
/// places of each row are neighbours. Lives as long as the kernels that are enqueued meanwhile need it.
class SortedRows {
 public:
  SortedRows(Context& context, const RowIndex& index);
  const RowKey* keys() const noexcept { return keys_; }
  int bits() const noexcept { return bits_; }

 private:
  int bits_;
  Scratch scratch_;
  RowKey* keys_;
};

}  // namespace kusari::cuda
