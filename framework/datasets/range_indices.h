#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Indices of Python's range(*slice(start, stop, step).indices(size)). Throws ValueError, naming `call`, for step 0.
KUSARI_API std::vector<int64_t> range_indices(const char* call, const Range& range, int64_t size);

}  // namespace kusari::datasets
