#pragma once

#include <immintrin.h>

#include "kusari/framework/kernels/macros.h"

// The innermost loops of the product of bfloat16 matrices. Included only by the sources beside it, each of which has
// its own copy of everything here.
namespace kusari::cpu {
namespace {

using km::i64;
using u16 = unsigned short;

typedef unsigned Words __attribute__((vector_size(64)));
typedef unsigned UnalignedWords __attribute__((vector_size(64), aligned(2), may_alias));
typedef u16 Halves __attribute__((vector_size(32)));
typedef u16 UnalignedHalves __attribute__((vector_size(32), aligned(2), may_alias));

constexpr i64 kFloats = 16;    // of a vector
constexpr i64 kPairsRow = 64;  // bfloat16 numbers of a row of pairs of a panel: two vectors
constexpr int kPanelVectors = 2;
constexpr int kMostRows = 12;  // 12 x 2 sums, two vectors of b and one of a stay in registers

// 16 numbers, each in the lower half of a word.
[[gnu::always_inline]] inline Words load_halves(const u16* from) {
  return __builtin_convertvector(static_cast<Halves>(*reinterpret_cast<const UnalignedHalves*>(from)), Words);
}
[[gnu::always_inline]] inline Words load_words(const u16* from) {
  return *reinterpret_cast<const UnalignedWords*>(from);
}
[[gnu::always_inline]] inline void store_words(u16* to, Words words) { *reinterpret_cast<UnalignedWords*>(to) = words; }

[[gnu::always_inline]] inline __m512 dot(__m512 sum, __m512i left, __m512i right) {
  return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, left), __builtin_bit_cast(__m512bh, right));
}

struct PairsBlock {
  i64 pairs;
  const u16* a;
  i64 a_row;   // between rows of a
  i64 a_pair;  // between pairs
  bool odd;    // behind the last pair comes a k without partner: only half of it may be read
  const u16* b;
  float* c;
  i64 c_row;
  i64 columns;  // at most 32
  bool add;
  const float* bias = nullptr;  // of the columns, added at last
  u16* rounded = nullptr;       // where the result goes in place of c
  i64 rounded_row = 0;
};

// kPrefetch: rows of a follow each other, so that the next ones can be fetched from another cache meanwhile: they are
// too short for the processor to foresee. kVectors: of the columns, which are no more than fit there.
template <int kRows, int kVectors, bool kPrefetch>
void multiply_pairs(const PairsBlock& block) {
  __m512 sum[kRows][kVectors];
  const __mmask16 masks[kPanelVectors] = {
      static_cast<__mmask16>((1u << (block.columns < kFloats ? block.columns : kFloats)) - 1),
      static_cast<__mmask16>(block.columns > kFloats ? (1u << (block.columns - kFloats)) - 1 : 0)};
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] =
          block.add ? _mm512_maskz_loadu_ps(masks[v], block.c + r * block.c_row + v * kFloats) : _mm512_setzero_ps();
    }
  }
  const u16* a = block.a;
  const u16* b = block.b;
  const i64 a_row = block.a_row, a_pair = block.a_pair;
  const auto step = [&](auto load_pair) __attribute__((always_inline)) {
    __m512i right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = _mm512_loadu_si512(b + v * (kPairsRow / 2));
    for (int r = 0; r < kRows; ++r) {
      const __m512i left = _mm512_set1_epi32(load_pair(a + r * a_row));
      for (int v = 0; v < kVectors; ++v) sum[r][v] = dot(sum[r][v], left, right[v]);
    }
  };
  constexpr i64 kLine = kPairsRow / 2;
  const i64 row_lines = (2 * block.pairs + kLine - 1) / kLine;
  const u16* next = a + kRows * a_row;
  i64 lines_left = row_lines;
  for (i64 p = 0; p < block.pairs; ++p) {
    if constexpr (kPrefetch) {
      _mm_prefetch(next, _MM_HINT_T0);
      next += kLine;
      if (--lines_left == 0) {
        lines_left = row_lines;
        next += a_row - row_lines * kLine;
      }
    }
    step([](const u16* from) __attribute__((always_inline)) {
      int pair;
      __builtin_memcpy(&pair, from, sizeof(pair));
      return pair;
    });
    a += a_pair;
    b += kPairsRow;
  }
  if (block.odd) step([](const u16* from) __attribute__((always_inline)) { return static_cast<int>(*from); });
  if (block.bias != nullptr) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512 bias = _mm512_maskz_loadu_ps(masks[v], block.bias + v * kFloats);
      for (int r = 0; r < kRows; ++r) sum[r][v] = _mm512_maskz_add_ps(0xffff, sum[r][v], bias);
    }
  }
  if (block.rounded != nullptr) {
    const auto mask = static_cast<__mmask32>(masks[0] | static_cast<unsigned>(masks[1]) << kFloats);
    for (int r = 0; r < kRows; ++r) {
      const __m512 second = kVectors > 1 ? sum[r][kVectors - 1] : _mm512_setzero_ps();
      const auto both = __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(second, sum[r][0]));
      _mm512_mask_storeu_epi16(block.rounded + r * block.rounded_row, mask, both);
    }
    return;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      _mm512_mask_storeu_ps(block.c + r * block.c_row + v * kFloats, masks[v], sum[r][v]);
    }
  }
}

template <int kVectors, bool kPrefetch>
void multiply_pairs_vectors(PairsBlock block, i64 m) {
  const auto advance = [&](int rows) {
    block.a += rows * block.a_row;
    if (block.c != nullptr) block.c += rows * block.c_row;
    if (block.rounded != nullptr) block.rounded += rows * block.rounded_row;
    m -= rows;
  };
  for (; m >= kMostRows; advance(kMostRows)) multiply_pairs<kMostRows, kVectors, kPrefetch>(block);
  if (m >= 8) {
    multiply_pairs<8, kVectors, kPrefetch>(block);
    advance(8);
  }
  if (m >= 4) {
    multiply_pairs<4, kVectors, kPrefetch>(block);
    advance(4);
  }
  if (m >= 2) {
    multiply_pairs<2, kVectors, kPrefetch>(block);
    advance(2);
  }
  if (m >= 1) multiply_pairs<1, kVectors, kPrefetch>(block);
}

template <bool kPrefetch>
void multiply_pairs_rows(const PairsBlock& block, i64 m) {
  if (block.columns > kFloats) return multiply_pairs_vectors<kPanelVectors, kPrefetch>(block, m);
  multiply_pairs_vectors<1, kPrefetch>(block, m);
}

}  // namespace
}  // namespace kusari::cpu
