#pragma once

#include <cstddef>

#include "kusari/cuda/runtime/context.h"

namespace kusari::cuda {

/// At least `bytes` bytes for one call of a library, aligned to 256; null for none. The same memory serves every call
/// on a stream, one after the other, so that it is only asked for where it grows: what one kernel leaves there the next
/// may overwrite.
void* workspace(Context& context, size_t bytes);

/// Gives back what this thread's calls on the stream had.
void release_workspace(Context& context, cudaStream_t stream) noexcept;

}  // namespace kusari::cuda
