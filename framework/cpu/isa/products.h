#pragma once

#include "kusari/framework/cpu/isa/gemm_block.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

// What the elements of x and w are: numbers, or several integers whose products are added to one sum.
struct Numbers {
  using Element = float;
  using Sum = float;
  static constexpr bool kIsMasked = false;  // whether tiles with fewer columns than their vectors hold mask the others
  static constexpr bool kFetchesRows = false;  // whether a tile fetches what the next one reads of x
  [[gnu::always_inline]] static Vector<float> add(Vector<float> left, Vector<float> right, Vector<float> sum) {
    return multiply_add<float>(left, right, sum);
  }
};
struct Pairs {  // of int16
  using Element = int;
  using Sum = int;
  static constexpr bool kIsMasked = false, kFetchesRows = false;
  static constexpr int kCount = 2;
  [[gnu::always_inline]] static Vector<int> add(Vector<int> left, Vector<int> right, Vector<int> sum) {
#if defined(__AVX512BW__)
    return sum + reinterpret_cast<Vector<int>>(
                     _mm512_madd_epi16(reinterpret_cast<__m512i>(left), reinterpret_cast<__m512i>(right)));
#elif defined(__AVX2__)
    return sum + reinterpret_cast<Vector<int>>(
                     _mm256_madd_epi16(reinterpret_cast<__m256i>(left), reinterpret_cast<__m256i>(right)));
#elif defined(__SSE2__)
    return sum + reinterpret_cast<Vector<int>>(
                     _mm_madd_epi16(reinterpret_cast<__m128i>(left), reinterpret_cast<__m128i>(right)));
#else
    // Little-endian: the first of a pair is its lower half.
    return sum + ((left << 16) >> 16) * ((right << 16) >> 16) + (left >> 16) * (right >> 16);
#endif
  }
};
#if defined(__AVX512VNNI__)
struct Quads {  // of uint8 in x, int8 in w
  using Element = int;
  using Sum = int;
  static constexpr bool kIsMasked = false, kFetchesRows = false;
  static constexpr int kCount = 4;
  [[gnu::always_inline]] static Vector<int> add(Vector<int> left, Vector<int> right, Vector<int> sum) {
    return reinterpret_cast<Vector<int>>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(left), reinterpret_cast<__m512i>(right)));
  }
};
#endif

}  // namespace
}  // namespace kusari::cpu
