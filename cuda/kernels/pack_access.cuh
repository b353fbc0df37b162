#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "kusari/cuda/kernels/element.cuh"

// Packs in one access each: the copy of a struct may be taken apart.
namespace kusari::cuda {

namespace detail {
template <size_t kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
}  // namespace detail

/// Pack `index` of an array that is aligned for packs.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from, int64_t index) {
#if defined(__CUDA_ARCH__)
  using Word = typename detail::WordOf<sizeof(Pack<T, N>)>::Type;
  const Word word = reinterpret_cast<const Word*>(from)[index];
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof(pack));
  return pack;
#else
  return reinterpret_cast<const Pack<T, N>*>(from)[index];
#endif
}

/// The same for what nobody reads again soon: it leaves the caches first.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack_once(const T* from, int64_t index) {
#if defined(__CUDA_ARCH__)
  using Word = typename detail::WordOf<sizeof(Pack<T, N>)>::Type;
  const Word word = __ldcs(reinterpret_cast<const Word*>(from) + index);
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof(pack));
  return pack;
#else
  return load_pack<N>(from, index);
#endif
}

template <int N, class T>
__device__ __forceinline__ void store_pack(T* to, int64_t index, const Pack<T, N>& pack) {
#if defined(__CUDA_ARCH__)
  using Word = typename detail::WordOf<sizeof(Pack<T, N>)>::Type;
  Word word;
  memcpy(&word, &pack, sizeof(pack));
  reinterpret_cast<Word*>(to)[index] = word;
#else
  reinterpret_cast<Pack<T, N>*>(to)[index] = pack;
#endif
}

}  // namespace kusari::cuda
