#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <tuple>
#include <utility>

#include "kusari/cuda/plans/block_count.h"
#include "kusari/cuda/runtime/check.h"
#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/graph.h"

namespace kusari::cuda {

/// Blocks, threads of a block, and bytes of dynamic shared memory.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared = 0;
};

#if defined(KUSARI_CUDA_EMULATED)
template <class... Parameters, class... Args>
void enqueue(Context& context, const LaunchShape& shape, void (*kernel)(Parameters...), Args&&... args) {
  const cudaStream_t stream = context.stream();
  const emulated::GridShape grid = {shape.grid, shape.block, shape.shared, reinterpret_cast<const void*>(kernel)};
  if (context.is_capturing()) load_for_capture(grid.kernel);
  if (!emulated::keeps_work(stream)) {
    return emulated::run_grid(grid, [&] { kernel(static_cast<Parameters>(args)...); });
  }
  std::tuple<Parameters...> copies(static_cast<Parameters>(args)...);
  KUSARI_CUDA_CHECK(emulated::submit(
      stream, [grid, kernel, copies] { emulated::run_grid(grid, [&] { std::apply(kernel, copies); }); }));
}
#else
/// Gives kernel<<<shape>>>(args...) to the context's stream. Every launch of this backend goes through here.
template <class... Parameters, class... Args>
void enqueue(Context& context, const LaunchShape& shape, void (*kernel)(Parameters...), Args&&... args) {
  static_assert(sizeof...(Parameters) == sizeof...(Args));
  if (context.is_capturing()) [[unlikely]]
    load_for_capture(reinterpret_cast<const void*>(kernel));
  [&](Parameters... converted) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&converted))..., nullptr};
    KUSARI_CUDA_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), shape.grid, shape.block, pointers,
                                       shape.shared, context.stream()));
  }(static_cast<Parameters>(args)...);
}

/// Dynamic shared memory of a kernel, under a name: KUSARI_DYNAMIC_SHARED(float, tile);
#define KUSARI_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char dynamic_shared_memory[]; \
  T* const name = reinterpret_cast<T*>(dynamic_shared_memory)
#endif

/// Allows a kernel more than 48 KiB of dynamic shared memory.
template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), size_t bytes) {
  const RelaxedCapture relaxed;  // it loads the kernel
  KUSARI_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

}  // namespace kusari::cuda
