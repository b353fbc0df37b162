#pragma once

#include "kusari/cuda/plans/axis_list.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {

/// Threads of a block of the reduction kernels.
inline constexpr int kReductionBlock = 256;

/// How the elements of a reduction go to threads. It depends on shapes, strides and alignment alone, so results do not
/// change from card to card.
struct ReductionPlan {
  AxisList<2> results;   ///< kept axes; operand 0 is x, operand 1 is y
  AxisList<1> reduced;   ///< the axes of x behind one result
  bool by_columns;       ///< a block takes neighbours along the last kept axis, else threads share one result
  bool packed;           ///< x is read 16 bytes at a time
  int width;             ///< by columns: threads side by side; else threads of one result. A power of two
  int splits;            ///< parts of `reduced` that different blocks take
  int64_t per_split;     ///< reduced elements in one part
  int64_t tiles = 1;     ///< by columns: blocks side by side
  int64_t result_count;  ///< results.total

  int64_t columns() const { return results.size[results.count - 1]; }
};

enum class ReducedOrder { memory, logical };

/// `pack`: elements of x in 16 bytes, or the number that threads read at a time where they cannot be read at once.
ReductionPlan plan_reduction(const Array& x, AxisMask axes, const Array& y, int pack, bool can_pack,
                             ReducedOrder order = ReducedOrder::memory);

}  // namespace kusari::cuda
