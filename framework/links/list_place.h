#pragma once

#include <cstddef>
#include <cstdint>

#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// Number i of n, negative ones counted from the end, or n itself with `or_end`. Throws IndexError.
KUSARI_API size_t list_place(const char* list, int64_t i, size_t n, bool or_end = false);

}  // namespace kusari::detail
