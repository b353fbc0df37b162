#pragma once

#include "kusari/cuda/plans/axis_list.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cuda {

/// Threads of a block of the kernels that use a SetPlan.
inline constexpr int kSetBlock = 256;

/// An array's elements in sets that are normalized together, of up to three arrays (`out`, `a`, `b`) of one shape.
struct SetPlan {
  enum Operand { kOut, kA, kB, kArrays, kChannel = kArrays, kOperands };

  AxisList<kArrays> sets;        ///< where each set begins
  AxisList<kOperands> elements;  ///< of one set in a's order in memory; the last operand counts channels of the set
  int64_t count;                 ///< sets
  int64_t size;                  ///< elements of a set
  bool packed;                   ///< 16 bytes of a set at a time
  int channel_step;              ///< from one element of a pack to the next
  bool by_columns;               ///< neighbours in memory belong to different sets: threads side by side take those
  int width;                     ///< threads of one set; a power of two, kSetBlock / width sets in a block
  int splits;                    ///< parts of each set that different blocks take
  int64_t per_split;
};

struct SetArrays {
  Array out, a, b;
};

/// Sets along the axes of the mask. `pack`: elements in 16 bytes.
SetPlan plan_sets(const SetArrays& arrays, AxisMask axes, int pack);
/// Sets of `groups` equal parts of axis 1, with all axes behind it: set (n, g) is number n * groups + g.
SetPlan plan_groups(const SetArrays& arrays, int64_t groups, int pack);

}  // namespace kusari::cuda
