#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct OneHotOptions {
  Scalar on_value = 1;
  Scalar off_value = 0;
  int64_t axis = -1;  ///< where in the result the new axis stands
  Dtype dtype = Dtype::float32;
};

/// Indices as vectors: on_value at the place that an index names along a new axis of size `depth`, off_value elsewhere.
/// indices: any shape, integers; negative ones count from depth, those out of range name no place. Returns
/// options.dtype in indices' shape with the axis added, not connected to indices. Throws TypeError if indices are not
/// integers, ValueError if depth is not positive, IndexError for an axis out of range.
KUSARI_API Variable one_hot(const Variable& indices, int64_t depth, const OneHotOptions& options = {});

}  // namespace kusari::functions
