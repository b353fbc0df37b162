#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Runs kernels on the host. A block's threads are fibers that change places at barriers and warp collectives; blocks
// run one after another, and one grid at a time.
namespace kusari::cuda::emulated {

#define KUSARI_EMULATED_API __attribute__((visibility("default")))

struct Thread {
  uint3 index;
};
struct Block {
  uint3 index;
  dim3 threads;
  dim3 grid;
};
/// Whose turn it is.
KUSARI_EMULATED_API extern Thread* current_thread;
KUSARI_EMULATED_API extern Block current_block;

struct GridShape {
  dim3 grid;
  dim3 block;
  size_t shared;       ///< bytes of dynamic shared memory
  const void* kernel;  ///< for messages
};

/// Calls `run(data)` once for each thread. Throws DeviceError if the kernel breaks a rule of the device.
KUSARI_EMULATED_API void run_grid(const GridShape& shape, void (*run)(void*), void* data);
template <class Kernel>
void run_grid(const GridShape& shape, Kernel&& kernel) {
  using Plain = std::remove_reference_t<Kernel>;
  run_grid(
      shape, [](void* data) { (*static_cast<Plain*>(data))(); }, &kernel);
}

/// Dynamic shared memory of this block, 16-byte aligned (128, in truth).
KUSARI_EMULATED_API void* dynamic_shared();

struct BarrierResult {
  int holds;    ///< threads whose predicate holds
  int threads;  ///< threads that came
};
/// Waits for all threads of the block that have not returned.
KUSARI_EMULATED_API BarrierResult barrier(bool predicate);

KUSARI_EMULATED_API int lane_index();
/// Waits for the lanes of `mask`; the value that lane `source` brought.
KUSARI_EMULATED_API uint64_t exchange(unsigned mask, uint64_t value, int source);
/// Waits for the lanes of `mask`; those whose predicate holds.
KUSARI_EMULATED_API unsigned ballot(unsigned mask, bool predicate);

}  // namespace kusari::cuda::emulated
