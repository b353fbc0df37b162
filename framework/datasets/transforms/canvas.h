#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets::transforms::detail {

/// A new image of `size`, filled, with `image` at (top, left), inside it. fill: one value, or one for each channel.
/// Throws ValueError, naming `call`, for a fill of another length, and one outside of [0, 255] for an image of uint8.
Array on_canvas(const char* call, const Array& image, const Size& size, int64_t top, int64_t left,
                const std::vector<double>& fill);

}  // namespace kusari::datasets::transforms::detail
