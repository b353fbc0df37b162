#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"

// For those who make arrays out of memory of their own.
namespace kusari::detail {

/// For Storage::id: never given out twice.
KUSARI_API uint64_t next_storage_id();
/// Whether the elements lie in C order without gaps: ArrayBody::contiguous.
KUSARI_API bool strides_contiguous(const Shape& shape, const Strides& strides);
/// Whether some order of the axes has neither gaps nor overlaps.
KUSARI_API bool strides_dense(const Shape& shape, const Strides& strides);

}  // namespace kusari::detail
