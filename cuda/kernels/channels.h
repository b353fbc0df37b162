#pragma once

#include <cstdint>

#include "kusari/cuda/runtime/context.h"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Copies `rows` rows of `channels` 16-bit elements into rows of `wider` elements, with zeros behind. `wider` is a
/// multiple of 8 and `to` aligned to 16 bytes.
void widen_channels(Context& context, const void* from, int64_t rows, int64_t channels, void* to, int64_t wider);

// Between x (N, C, H, W) and y (N, K, h, w), dense, channels-last, 16-bit, C <= 4: pixel (i, j) of y holds the four
// pixels of x from (2 i + first_row, 2 j + first_column) on behind each other, with zeros where x has none. K: a
// multiple of 8, 4 C at least; y is aligned to 16 bytes.

void fold_pixels(Context& context, const Array& x, int64_t first_row, int64_t first_column, const Array& y);
/// x from y, which has all of its pixels.
void unfold_pixels(Context& context, const Array& y, int64_t first_row, int64_t first_column, const Array& x);

}  // namespace kusari::cuda
