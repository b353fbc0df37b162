#pragma once

#include <cuda_runtime.h>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"

// Elements whose dtype is known at run time alone, read and written as C: float, double or km::i64. The dtype is the
// same for all threads, so that no warp diverges.
namespace kusari::cuda {

template <class C, int N>
struct ValuesOf {
  C at[N];
};
template <int N>
struct OffsetsOf {
  int32_t at[N];  // bytes
};
template <class C>
using Values = ValuesOf<C, kAtOnce>;
using Offsets = OffsetsOf<kAtOnce>;

namespace detail {

template <class T, class C, int N>
__device__ __forceinline__ ValuesOf<C, N> load_values_of(const char* base, const OffsetsOf<N>& offset) {
  T element[N];
#pragma unroll
  for (int j = 0; j < N; ++j) element[j] = *reinterpret_cast<const T*>(base + offset.at[j]);
  ValuesOf<C, N> values;
#pragma unroll
  for (int j = 0; j < N; ++j) values.at[j] = static_cast<C>(widen(element[j]));
  return values;
}

template <class T, class C, int N>
__device__ __forceinline__ void store_values_of(char* base, const OffsetsOf<N>& offset, const ValuesOf<C, N>& values,
                                                int n) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < n) *reinterpret_cast<T*>(base + offset.at[j]) = narrow<T>(values.at[j]);
  }
}

}  // namespace detail

/// Out of line: the switches over dtypes are once in a file, not once in each of its kernels.
template <class C, int N>
__device__ __attribute__((noinline)) ValuesOf<C, N> load_values(const char* base, OffsetsOf<N> offset, Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return detail::load_values_of<bool, C>(base, offset);
    case Dtype::uint8:
      return detail::load_values_of<uint8_t, C>(base, offset);
    case Dtype::int8:
      return detail::load_values_of<int8_t, C>(base, offset);
    case Dtype::int32:
      return detail::load_values_of<int32_t, C>(base, offset);
    case Dtype::int64:
      return detail::load_values_of<int64_t, C>(base, offset);
    case Dtype::float16:
      return detail::load_values_of<float16, C>(base, offset);
    case Dtype::bfloat16:
      return detail::load_values_of<bfloat16, C>(base, offset);
    case Dtype::float32:
      return detail::load_values_of<float, C>(base, offset);
    case Dtype::float64:
      break;
  }
  return detail::load_values_of<double, C>(base, offset);
}

/// The first n of the values.
template <class C, int N>
__device__ __attribute__((noinline)) void store_values(char* base, OffsetsOf<N> offset, ValuesOf<C, N> values, int n,
                                                       Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return detail::store_values_of<bool, C>(base, offset, values, n);
    case Dtype::uint8:
      return detail::store_values_of<uint8_t, C>(base, offset, values, n);
    case Dtype::int8:
      return detail::store_values_of<int8_t, C>(base, offset, values, n);
    case Dtype::int32:
      return detail::store_values_of<int32_t, C>(base, offset, values, n);
    case Dtype::int64:
      return detail::store_values_of<int64_t, C>(base, offset, values, n);
    case Dtype::float16:
      return detail::store_values_of<float16, C>(base, offset, values, n);
    case Dtype::bfloat16:
      return detail::store_values_of<bfloat16, C>(base, offset, values, n);
    case Dtype::float32:
      return detail::store_values_of<float, C>(base, offset, values, n);
    case Dtype::float64:
      break;
  }
  detail::store_values_of<double, C>(base, offset, values, n);
}

}  // namespace kusari::cuda
