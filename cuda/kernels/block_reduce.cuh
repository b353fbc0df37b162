#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kusari/framework/core/host_device.h"

// Reductions over the threads of a warp or a block, in an order that depends on their number alone.
namespace kusari::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

/// The value of another lane; T of 4 or 8 bytes, or a struct of such.
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int lane_mask) {
  static_assert(sizeof(T) % 4 == 0);
  if constexpr (std::is_arithmetic_v<T>) {
    return __shfl_xor_sync(kAllLanes, value, lane_mask);
  } else {
    union Words {
      __device__ Words() {}
      T value;
      unsigned word[sizeof(T) / 4];
    } words;
    words.value = value;
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i)
      words.word[i] = __shfl_xor_sync(kAllLanes, words.word[i], lane_mask);
    return words.value;
  }
}

/// combine over all 32 lanes, the result in each.
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, Combine combine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value = combine(value, shuffle_xor(value, distance));
  return value;
}

/// combine over all threads of a block of one dimension (a multiple of 32, at most 1024 threads), the result in each.
/// Every thread must call it. `identity` combines with any value to that value.
template <class T, class Combine>
__device__ __forceinline__ T block_reduce(T value, T identity, Combine combine) {
  __shared__ __align__(16) unsigned char partial_bytes[kWarp * sizeof(T)];
  T* const partial = reinterpret_cast<T*>(partial_bytes);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = warp_reduce(value, combine);
  __syncthreads();  // the last reduction's partial results have been read
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = lane < warps ? partial[lane] : identity;
  return warp_reduce(value, combine);
}

template <class T>
struct Plus {
  __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};

}  // namespace kusari::cuda
