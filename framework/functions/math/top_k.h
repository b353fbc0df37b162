#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct TopK {
  Variable values;   ///< the k largest, from the largest
  Variable indices;  ///< their places along the axis, int32
};

/// The k largest elements along an axis; of equal ones the first, a NaN before all.
/// x: any shape and dtype. Returns x's shape with k in the place of the axis. Throws IndexError for an axis that x does
/// not have, ValueError unless 0 <= k <= its length. The values are differentiable to any order. torch.topk.
KUSARI_API TopK top_k(const Variable& x, int64_t k, int64_t axis = -1);

}  // namespace kusari::functions
