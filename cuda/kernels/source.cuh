#pragma once

#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/framework/core/array.h"

// Operands of kernels whose dtype is a type (Elements), or is looked up when the kernel runs: for integers, and for
// what is read or written once a row.
namespace kusari::cuda {

/// Elements of one type, read as Compute<T>, one or a pack at a time.
template <class T>
struct Elements {
  using Value = Compute<T>;
  static constexpr int kPack = kPackSize<T>;
  static constexpr int kBytes = sizeof(T);
  const T* data;

  __device__ __forceinline__ Value load(int64_t at) const { return widen(data[at]); }
  __device__ __forceinline__ Pack<T, kPack> load_pack(int64_t at) const { return cuda::load_pack<kPack>(data + at, 0); }
};

/// An element of any dtype as a C. Out of line, as store_as is.
template <class C>
__device__ __attribute__((noinline)) C load_as(const void* data, Dtype dtype, int64_t at) {
  switch (dtype) {
    case Dtype::bool_:
      return static_cast<C>(widen(static_cast<const bool*>(data)[at]));
    case Dtype::uint8:
      return static_cast<C>(widen(static_cast<const uint8_t*>(data)[at]));
    case Dtype::int8:
      return static_cast<C>(widen(static_cast<const int8_t*>(data)[at]));
    case Dtype::int32:
      return static_cast<C>(widen(static_cast<const int32_t*>(data)[at]));
    case Dtype::int64:
      return static_cast<C>(widen(static_cast<const int64_t*>(data)[at]));
    case Dtype::float16:
      return static_cast<C>(widen(static_cast<const float16*>(data)[at]));
    case Dtype::bfloat16:
      return static_cast<C>(widen(static_cast<const bfloat16*>(data)[at]));
    case Dtype::float32:
      return static_cast<C>(static_cast<const float*>(data)[at]);
    case Dtype::float64:
      break;
  }
  return static_cast<C>(static_cast<const double*>(data)[at]);
}

/// An element of any integer dtype.
__device__ __forceinline__ km::i64 load_integer(const void* data, Dtype dtype, int64_t at) {
  switch (dtype) {
    case Dtype::bool_:
    case Dtype::uint8:
      return static_cast<const uint8_t*>(data)[at];
    case Dtype::int8:
      return static_cast<const int8_t*>(data)[at];
    case Dtype::int32:
      return static_cast<const int32_t*>(data)[at];
    default:
      return static_cast<const int64_t*>(data)[at];
  }
}

/// Integers and bool, one at a time.
struct Integers {
  using Value = km::i64;
  static constexpr int kPack = 4;
  const void* data;
  Dtype dtype;

  __device__ __forceinline__ Value load(int64_t at) const { return load_integer(data, dtype, at); }
};

/// Elements of the types that are computed as C, float or double, one at a time: for kernels that are seldom in a
/// hurry, instead of one for each type.
template <class C>
struct AnyFloating {
  using Value = C;
  static constexpr int kPack = 4;
  const void* data;
  Dtype dtype;

  __device__ __forceinline__ Value load(int64_t at) const {
    if constexpr (sizeof(C) == sizeof(double)) {
      return static_cast<const double*>(data)[at];
    } else {
      switch (dtype) {
        case Dtype::float16:
          return widen(static_cast<const float16*>(data)[at]);
        case Dtype::bfloat16:
          return widen(static_cast<const bfloat16*>(data)[at]);
        default:
          return static_cast<const float*>(data)[at];
      }
    }
  }
};

/// Writes an element of any dtype. Out of line: the switch is once in a file, not once in each of its kernels.
template <class C>
__device__ __attribute__((noinline)) void store_as(void* data, Dtype dtype, int64_t at, C value) {
  switch (dtype) {
    case Dtype::bool_:
      static_cast<bool*>(data)[at] = narrow<bool>(value);
      break;
    case Dtype::uint8:
      static_cast<uint8_t*>(data)[at] = narrow<uint8_t>(value);
      break;
    case Dtype::int8:
      static_cast<int8_t*>(data)[at] = narrow<int8_t>(value);
      break;
    case Dtype::int32:
      static_cast<int32_t*>(data)[at] = narrow<int32_t>(value);
      break;
    case Dtype::int64:
      static_cast<int64_t*>(data)[at] = narrow<int64_t>(value);
      break;
    case Dtype::float16:
      static_cast<float16*>(data)[at] = narrow<float16>(value);
      break;
    case Dtype::bfloat16:
      static_cast<bfloat16*>(data)[at] = narrow<bfloat16>(value);
      break;
    case Dtype::float32:
      static_cast<float*>(data)[at] = narrow<float>(value);
      break;
    case Dtype::float64:
      static_cast<double*>(data)[at] = narrow<double>(value);
      break;
  }
}

/// Where results of any dtype go.
struct Target {
  void* data = nullptr;
  Dtype dtype = Dtype::float32;

  Target() = default;
  explicit Target(const Array& array) : data{array.raw_data()}, dtype{array.dtype()} {}

  template <class C>
  __device__ __forceinline__ void store(int64_t at, C value) const {
    store_as<C>(data, dtype, at, value);
  }
};

}  // namespace kusari::cuda
