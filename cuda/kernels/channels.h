#pragma once

#include <cstdint>

#include "kusari/cuda/runtime/context.h"

namespace kusari::cuda {

/// Copies `rows` rows of `channels` 16-bit elements into rows of `wider` elements, with zeros behind. `wider` is a
/// multiple of 8 and `to` aligned to 16 bytes.
void widen_channels(Context& context, const void* from, int64_t rows, int64_t channels, void* to, int64_t wider);

}  // namespace kusari::cuda
