#pragma once

#include "kusari/framework/kernels/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

// The 16-bit floating types as loops read and write them. Included only by the sources beside it, each of which has its
// own copy of everything here. Compilers neither vectorize conversions of float16 by themselves nor keep the
// processor's own in a vectorized loop, so they come in groups.
namespace kusari::cpu {
namespace {

// Nothing here may be left as a function of its own: vectors would stop at the call.
#define KUSARI_INLINE __attribute__((always_inline)) inline

struct Half {
  unsigned short bits;
};
struct Brain {
  unsigned short bits;
};

/// A float16 as the processors' instructions widen it: a signaling NaN becomes a quiet one.
KUSARI_INLINE float quiet_float_from_half(unsigned short bits) {
  const float value = km::float_from_half(bits);
  const km::u32 quiet = (bits & 0x7fffu) > 0x7c00u ? 0x400000u : 0u;
  return km::bit_cast<float>(km::bit_cast<km::u32>(value) | quiet);
}

/// kLanes elements, a power of two, which the compiler may keep in registers on both sides.
template <int kLanes>
KUSARI_INLINE void widen_lanes(const Half* from, float* to) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    // The variants without a mask make g++ 12 warn of its own header.
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(0xffff, halves));
  }
#endif
#if defined(__F16C__)
  if constexpr (kLanes >= 8) {
    for (int i = 0; i < kLanes; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
    return;
  }
#endif
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) to[i] = quiet_float_from_half(from[i].bits);
}
template <int kLanes>
KUSARI_INLINE void widen_lanes(const Brain* from, float* to) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m512i bits =
        _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_storeu_ps(to, _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, bits, 16)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (kLanes == 8) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm256_storeu_ps(to, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
  }
#endif
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) to[i] = km::float_from_bfloat16(from[i].bits);
}

template <int kLanes>
KUSARI_INLINE void narrow_lanes(const float* from, Half* to) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m256i halves = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
  }
#endif
#if defined(__F16C__)
  if constexpr (kLanes >= 8) {
    for (int i = 0; i < kLanes; i += 8) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
    return;
  }
#endif
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) to[i].bits = km::half_from_float(from[i]);
}
template <class T, int kLanes>
struct LanesOf {
  typedef T Type __attribute__((vector_size(kLanes * sizeof(T))));
};

template <int kLanes>
KUSARI_INLINE void narrow_lanes(const float* from, Brain* to) {
  // km::bfloat16_from_float in one width: compilers would go through the stack on the way to the narrower one.
  using Words = typename LanesOf<km::u32, kLanes>::Type;
  using Shorts = typename LanesOf<unsigned short, kLanes>::Type;
  Words bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, quiet = (bits >> 16) | 0x40u;
  bits = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
  const Shorts brains = __builtin_convertvector(bits, Shorts);
  __builtin_memcpy(to, &brains, sizeof(brains));
}

/// Elements of a range that are converted together.
constexpr int kGroup = 16;

/// to[i] = from[i] for i in [0, n).
template <class S>
KUSARI_INLINE void widen(const S* from, float* to, km::i64 n) {
  km::i64 i = 0;
  for (; i + kGroup <= n; i += kGroup) widen_lanes<kGroup>(from + i, to + i);
  if (i == n) return;
  S last[kGroup] = {};
  float wide[kGroup];
  for (km::i64 k = 0; i + k < n; ++k) last[k] = from[i + k];
  widen_lanes<kGroup>(last, wide);
  for (km::i64 k = 0; i + k < n; ++k) to[i + k] = wide[k];
}
template <class S>
KUSARI_INLINE void narrow(const float* from, S* to, km::i64 n) {
  km::i64 i = 0;
  for (; i + kGroup <= n; i += kGroup) narrow_lanes<kGroup>(from + i, to + i);
  if (i == n) return;
  float last[kGroup] = {};
  S rounded[kGroup];
  for (km::i64 k = 0; i + k < n; ++k) last[k] = from[i + k];
  narrow_lanes<kGroup>(last, rounded);
  for (km::i64 k = 0; i + k < n; ++k) to[i + k] = rounded[k];
}

}  // namespace
}  // namespace kusari::cpu
