#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Sums of rows of one segment: y[s] = the sum of x[i] over all i with ids[i] = s, zeros where there are none.
/// x: (N, ...), floating. ids: (N), integers in [0, n_segments), in any order. Returns (n_segments, ...) of x's dtype;
/// 16 bits are summed in float32. Throws TypeError for arguments that do not fit, ValueError for a negative
/// n_segments, IndexError for an id out of range. Differentiable to any order by x. tf.math.unsorted_segment_sum,
/// torch_geometric.utils.scatter.
KUSARI_API Variable segment_sum(const Variable& x, const Variable& ids, int64_t n_segments);
/// The same with means; zeros where a segment has no row. tf.math.unsorted_segment_mean.
KUSARI_API Variable segment_mean(const Variable& x, const Variable& ids, int64_t n_segments);
/// The same with the largest element; zeros where a segment has no row, as torch_geometric has it. The gradient is that
/// of one row where several are equal. Reads ids on the host, so a static graph cannot record it.
/// tf.math.unsorted_segment_max.
KUSARI_API Variable segment_max(const Variable& x, const Variable& ids, int64_t n_segments);
/// The same with the smallest element. tf.math.unsorted_segment_min.
KUSARI_API Variable segment_min(const Variable& x, const Variable& ids, int64_t n_segments);

}  // namespace kusari::functions
