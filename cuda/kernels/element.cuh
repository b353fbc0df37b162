#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/host_device.h"
#include "kusari/framework/kernels/half.h"

// How device code reads and writes elements: stored as T, computed as Compute<T>.
namespace kusari::cuda {

namespace detail {
template <class T>
struct ComputeOf {
  using Type = km::i64;
};
template <>
struct ComputeOf<float> {
  using Type = float;
};
template <>
struct ComputeOf<float16> {
  using Type = float;
};
template <>
struct ComputeOf<bfloat16> {
  using Type = float;
};
template <>
struct ComputeOf<double> {
  using Type = double;
};
}  // namespace detail

/// float for float and the half types, double for double, i64 for integers and bool.
template <class T>
using Compute = typename detail::ComputeOf<T>::Type;

KUSARI_HOST_DEVICE float widen(float16 x) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(x.bits));
#else
  return km::float_from_half(x.bits);
#endif
}
KUSARI_HOST_DEVICE float widen(bfloat16 x) { return km::float_from_bfloat16(x.bits); }
KUSARI_HOST_DEVICE float widen(float x) { return x; }
KUSARI_HOST_DEVICE double widen(double x) { return x; }
KUSARI_HOST_DEVICE km::i64 widen(int64_t x) { return static_cast<km::i64>(x); }
KUSARI_HOST_DEVICE km::i64 widen(int32_t x) { return x; }
KUSARI_HOST_DEVICE km::i64 widen(int8_t x) { return x; }
KUSARI_HOST_DEVICE km::i64 widen(uint8_t x) { return x; }
KUSARI_HOST_DEVICE km::i64 widen(bool x) { return x ? 1 : 0; }

/// A floating number as an integer: what T cannot hold is its nearest number, as cards convert.
template <class T, class From>
KUSARI_HOST_DEVICE T integer_from(From x) {
#if defined(KUSARI_CUDA_EMULATED)
  return emulated::saturated<T>(x);
#else
  return static_cast<T>(x);
#endif
}

/// x as an element of type T: halves are rounded to nearest, to even at a tie (a NaN is a quiet one, whose other digits
/// are the hardware's); bool is "is not zero".
template <class T, class From>
KUSARI_HOST_DEVICE T narrow(From x) {
  if constexpr (dtype_of<T> == Dtype::float16) {
    float16 y;
#if defined(__CUDA_ARCH__)
    y.bits = __half_as_ushort(__float2half_rn(static_cast<float>(x)));
#else
    y.bits = km::half_from_float(static_cast<float>(x));
#endif
    return y;
  } else if constexpr (dtype_of<T> == Dtype::bfloat16) {
    bfloat16 y;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(static_cast<float>(x)));
#else
    y.bits = km::bfloat16_from_float(static_cast<float>(x));
#endif
    return y;
  } else if constexpr (dtype_of<T> == Dtype::bool_) {
    return x != From{};
  } else if constexpr (sizeof(T) == 1 && From(0.5) != From(0)) {
    return static_cast<T>(integer_from<int>(x));  // what lies outside the small type wraps, as on the CPU
  } else if constexpr (T(0.5) == T(0) && From(0.5) != From(0)) {
    return integer_from<T>(x);
  } else {
    return static_cast<T>(x);
  }
}

/// N elements that are read and written at once: at most 16 bytes, aligned to their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  static_assert(sizeof(T) * N <= 16);
  T at[N];
};
/// Elements of a 16-byte Pack.
template <class T>
inline constexpr int kPackSize = 16 / static_cast<int>(sizeof(T));

/// Whether a pointer is aligned for 16-byte packs.
inline bool is_pack_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

/// Calls f.template operator()<T>() with the type of a floating dtype; false if it is not floating.
template <class F>
bool visit_floating(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::float16:
      f.template operator()<float16>();
      return true;
    case Dtype::bfloat16:
      f.template operator()<bfloat16>();
      return true;
    case Dtype::float32:
      f.template operator()<float>();
      return true;
    case Dtype::float64:
      f.template operator()<double>();
      return true;
    default:
      return false;
  }
}

}  // namespace kusari::cuda
