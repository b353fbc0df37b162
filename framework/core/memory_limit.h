#pragma once

#include <cstddef>

#include "kusari/framework/core/export.h"

namespace kusari::cuda {

/// Most bytes that the pool of each CUDA device takes from the driver; 0: as many as there are. Process-wide,
/// $KUSARI_CUDA_MEMORY_LIMIT or 0 at the start. Arrays that exist already stay. Where more is needed, cached memory is
/// given back first; then OutOfMemoryError. cupy.get_default_memory_pool().set_limit.
KUSARI_API void set_memory_limit(size_t bytes);
KUSARI_API size_t get_memory_limit();

}  // namespace kusari::cuda
