#include "kusari/tools/kusari-bench/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<int64_t> g_allocations{0};
void count() { g_allocations.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

// The program's own malloc stands before the C library's, also for the libraries that it uses.
#define EXPORT __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

EXPORT void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
EXPORT void* calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
EXPORT void* realloc(void* block, size_t bytes) {
  count();
  return __libc_realloc(block, bytes);
}
EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
EXPORT int posix_memalign(void** block, size_t alignment, size_t bytes) {
  count();
  *block = __libc_memalign(alignment, bytes);
  return *block != nullptr ? 0 : ENOMEM;
}
}

int64_t bench::allocations() { return g_allocations.load(std::memory_order_relaxed); }

#else

int64_t bench::allocations() { return -1; }

#endif
