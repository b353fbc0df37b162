#pragma once

// What the text of a user's kernel sees. NVRTC compiles this without any standard header.

#include "kusari/framework/core/philox.h"
#include "kusari/framework/kernels/half.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::user {

using int8 = signed char;
using uint8 = unsigned char;
using int32 = int;
using int64 = long long;
using float32 = float;
using float64 = double;

/// IEEE binary16: computed with as float.
struct float16 {
  unsigned short bits;
  float16() = default;
  KUSARI_HOST_DEVICE float16(float x) {
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    bits = km::half_from_float(x);
#endif
  }
  KUSARI_HOST_DEVICE operator float() const {
#if defined(__CUDA_ARCH__)
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    return km::float_from_half(bits);
#endif
  }
};

/// The upper half of a float: computed with as float.
struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  KUSARI_HOST_DEVICE bfloat16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    bits = km::bfloat16_from_float(x);
#endif
  }
  KUSARI_HOST_DEVICE operator float() const { return km::float_from_bfloat16(bits); }
};

/// Sizes of kNdim axes, and the bytes from one element to the next along each, for kOperands arrays.
template <int kOperands, int kNdim>
struct Layout {
  long long size[kNdim];
  long long stride[kOperands][kNdim];

  /// Bytes from the first element of each array to element i in C order.
  KUSARI_HOST_DEVICE void locate(long long i, long long* offset) const {
    for (int k = 0; k < kOperands; ++k) offset[k] = 0;
    for (int axis = kNdim - 1; axis >= 0; --axis) {
      const long long index = axis == 0 ? i : i % size[axis];
      if (axis > 0) i /= size[axis];
      for (int k = 0; k < kOperands; ++k) offset[k] += index * stride[k][axis];
    }
  }
};

/// An array that the text indexes itself, in C order.
template <class T, int kNdim>
struct Raw {
  const T* data;
  Layout<1, kNdim> layout;

  KUSARI_HOST_DEVICE const T& operator[](long long i) const {
    long long offset;
    layout.locate(i, &offset);
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) + offset);
  }
  KUSARI_HOST_DEVICE long long size() const {
    long long n = 1;
    for (int axis = 0; axis < kNdim; ++axis) n *= layout.size[axis];
    return n;
  }
};

}  // namespace kusari::user
