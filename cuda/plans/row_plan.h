#pragma once

#include "kusari/cuda/plans/axis_list.h"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Threads of a block of the kernels that use a RowPlan, and of one for rows of at least kLongRow elements.
inline constexpr int kRowBlock = 256, kLongRowBlock = 1024;
inline constexpr int64_t kLongRow = 8192;

/// Rows along one axis of up to three arrays (`out`, `a`, `b`), and up to two arrays without that axis (`value`,
/// `label`), which have one element for each row. Undefined arrays have strides 0.
struct RowPlan {
  enum Operand { kOut, kA, kB, kValue, kLabel, kOperands };

  AxisList<kOperands> rows;  ///< everything but the axis; neighbours of `a` in memory are next to each other
  int64_t n;                 ///< elements of a row
  int64_t stride[3];         ///< of out, a and b along the axis
  bool packed;               ///< rows are contiguous and can be read 16 bytes at a time
  bool contiguous;           ///< along the axis, in all arrays
  int columns = 1;           ///< rows side by side in a block; a power of two. The other threads share a row
  int threads = kRowBlock;   ///< of a block
  int64_t count;             ///< rows
};

struct RowOperands {
  Array out, a, b, value, label;
};

/// `pack`: elements in 16 bytes. `out`, `a` and `b` have one shape, and one item size where they are packed.
RowPlan plan_rows(const RowOperands& operands, int axis, int pack);

}  // namespace kusari::cuda
