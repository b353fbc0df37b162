#pragma once

#include <cstdint>

namespace bench {

/// Calls of malloc and its relatives so far, by any thread and library of this program; -1 in a build with a sanitizer,
/// which has an allocator of its own.
int64_t allocations();

}  // namespace bench
