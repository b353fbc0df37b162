#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"

namespace kusari {

/// Threads that CPU kernels use: $KUSARI_NUM_THREADS, else all cores this process may run on.
KUSARI_API int num_threads();
/// Throws ValueError below 1.
KUSARI_API void set_num_threads(int n);

/// While it lives, loops of this thread run on it alone: for a thread that is one of many already.
class KUSARI_API SingleThreaded {
 public:
  SingleThreaded() noexcept;
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;
  ~SingleThreaded();

 private:
  bool was_inside_;
};

namespace detail {
KUSARI_API void run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context);
}

/// Calls body(begin, end) for consecutive ranges of [0, n) of `chunk` elements each, on several threads when there are
/// several ranges. The ranges do not depend on the number of threads, so neither do results that are combined by range.
/// Where ranges throw, the first exception leaves the call, when all threads are done with it; not all ranges may have
/// run then.
template <class Body>
void parallel_for(int64_t n, int64_t chunk, const Body& body) {
  if (n <= chunk) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  struct Context {
    const Body* body;
    int64_t n, chunk;
  } context{&body, n, chunk};
  detail::run_chunks((n + chunk - 1) / chunk,
                     [](void* opaque, int64_t i) {
                       const Context& c = *static_cast<const Context*>(opaque);
                       const int64_t begin = i * c.chunk;
                       const int64_t end = begin + c.chunk < c.n ? begin + c.chunk : c.n;
                       (*c.body)(begin, end);
                     },
                     &context);
}

}  // namespace kusari
