#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

constexpr i64 kLanes = Simd<float>::kLanes;

/// kLanes neighbouring bytes, each in 32 bits.
[[gnu::always_inline]] inline Vector<int> widen_bytes(const unsigned char* from) {
#if defined(__AVX512F__)  // masked, with all lanes: see round_to_even()
  return reinterpret_cast<Vector<int>>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector<int>>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  Vector<int> result;
  for (int i = 0; i < kLanes; ++i) result[i] = from[i];
  return result;
#endif
}
[[gnu::always_inline]] inline Vector<int> load_bytes(const unsigned char* from, i64 count) {
  if (count >= kLanes) return widen_bytes(from);
  unsigned char some[kLanes] = {};
  for (i64 i = 0; i < count; ++i) some[i] = from[i];
  return widen_bytes(some);
}

}  // namespace
}  // namespace kusari::cpu
