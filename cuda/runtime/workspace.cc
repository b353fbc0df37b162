#include "kusari/cuda/runtime/workspace.h"

#include <vector>

#include "kusari/framework/core/thread_owned.h"

namespace kusari::cuda {
namespace {

struct Slab {
  int device;
  cudaStream_t stream;
  void* data;
  size_t bytes;
};

// Of one thread: nothing to lock. Two threads that share a stream have a slab each.
class Slabs {
 public:
  Slabs() = default;
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs() {
    for (const Slab& slab : slabs_) Context::existing(slab.device).deallocate(slab.data);
  }

  void* get(Context& context, size_t bytes) {
    const cudaStream_t stream = context.stream();
    for (Slab& slab : slabs_) {
      if (slab.device != context.index() || slab.stream != stream) continue;
      if (slab.bytes < bytes) grow(context, slab, bytes);
      return slab.data;
    }
    Slab& slab = slabs_.emplace_back(Slab{context.index(), stream, nullptr, 0});
    grow(context, slab, bytes);
    return slab.data;
  }

  void release(Context& context, cudaStream_t stream) noexcept {
    std::erase_if(slabs_, [&](const Slab& slab) {
      if (slab.device != context.index() || slab.stream != stream) return false;
      context.deallocate(slab.data);
      return true;
    });
  }

 private:
  static void grow(Context& context, Slab& slab, size_t bytes) {
    // Earlier kernels of the stream may still use the old block: the pool gives it to later ones only.
    if (slab.data != nullptr) context.deallocate(slab.data);
    slab.data = nullptr;
    slab.bytes = 0;
    slab.data = context.allocate(bytes);
    slab.bytes = bytes;
  }

  std::vector<Slab> slabs_;
};

constinit thread_local Slabs* own_slabs __attribute__((tls_model("initial-exec"))) = nullptr;

Slabs& slabs() { return kusari::detail::thread_owned(own_slabs); }

}  // namespace

void* workspace(Context& context, size_t bytes) { return bytes == 0 ? nullptr : slabs().get(context, bytes); }

void release_workspace(Context& context, cudaStream_t stream) noexcept { slabs().release(context, stream); }

}  // namespace kusari::cuda
