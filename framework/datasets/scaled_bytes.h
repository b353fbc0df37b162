#pragma once

#include "kusari/framework/core/array.h"

namespace kusari::datasets {

/// bytes * scale / 255 for a contiguous uint8 array: computed in float64 for that dtype, in float32 for other floating
/// ones. As they are for uint8. Throws ValueError, which begins with `call`, for another dtype.
Array scaled_bytes(const char* call, const Array& bytes, double scale, Dtype dtype);

}  // namespace kusari::datasets
