#pragma once

#include "kusari/cuda/kernels/pack_access.cuh"

// Packs as the numbers that kernels compute with.
namespace kusari::cuda {

template <class T, int N>
__device__ __forceinline__ void load_wide(const T* from, Compute<T> (&values)[N]) {
  const Pack<T, N> pack = load_pack<N>(from, 0);
#pragma unroll
  for (int k = 0; k < N; ++k) values[k] = widen(pack.at[k]);
}
template <class T, int N>
__device__ __forceinline__ void store_narrow(T* to, const Compute<T> (&values)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) pack.at[k] = narrow<T>(values[k]);
  store_pack<N>(to, 0, pack);
}

}  // namespace kusari::cuda
