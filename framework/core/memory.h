#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"

namespace kusari::memory {

/// Host memory from a caching pool: 64-byte aligned, uninitialised. Freed blocks are kept, small ones by size class, up
/// to 256 KiB by each thread, so a steady program asks the system for nothing. Any thread may free what another
/// allocated. Throws OutOfMemoryError, stating what was asked for, in use and cached, after a retry with the cache
/// released. KUSARI_MEMORY_POOL=0 (and AddressSanitizer builds) go to the system for every block.
KUSARI_API void* allocate(size_t bytes);
/// Gives back a block; `bytes` is what allocate was asked for. Null is ignored.
KUSARI_API void deallocate(void* block, size_t bytes) noexcept;

/// What the pool holds, in bytes, over all threads. Blocks count with the size of their class.
struct Statistics {
  int64_t allocated = 0;           ///< in use now
  int64_t max_allocated = 0;       ///< highest value of `allocated` since the start or reset_max_allocated()
  int64_t reserved = 0;            ///< taken from the system
  int64_t system_allocations = 0;  ///< how often the system was asked, a count
};
/// Exact for the calling thread; other threads' small blocks may lag by 64 KiB each.
KUSARI_API Statistics statistics();
KUSARI_API void reset_max_allocated();
/// Gives what is kept back to the system. Other threads give what they keep to the pool at their next calls.
KUSARI_API void release_cached();
/// `statistics()` as a few lines of text.
KUSARI_API std::string summary();

/// An object in pooled memory.
template <class T, class... Args>
T* create(Args&&... args) {
  void* block = allocate(sizeof(T));
  try {
    return ::new (block) T(std::forward<Args>(args)...);
  } catch (...) {
    deallocate(block, sizeof(T));
    throw;
  }
}
template <class T>
void destroy(T* object) noexcept {
  object->~T();
  deallocate(object, sizeof(T));
}

}  // namespace kusari::memory
