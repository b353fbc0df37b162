#include "kusari/framework/cpu/isa/bfloat16_gemm.h"

#include "kusari/framework/cpu/isa/bfloat16_block.h"

namespace kusari::cpu {
namespace {

constexpr i64 kDepth = 512;  // a panel of so many k stays in the first-level cache

i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// Rows p and p + 1 side by side, 32 columns.
void pack_pair_of_rows(const u16* b, i64 b_row, bool has_second, i64 columns, u16* packed) {
  if (columns < kBfloat16Panel) {
    for (i64 j = 0; j < kBfloat16Panel; ++j) {
      packed[2 * j] = j < columns ? b[j] : u16{0};
      packed[2 * j + 1] = j < columns && has_second ? b[b_row + j] : u16{0};
    }
    return;
  }
  for (i64 j = 0; j < kBfloat16Panel; j += kFloats) {
    Words both = load_halves(b + j);
    if (has_second) both |= load_halves(b + b_row + j) << 16;
    store_words(packed + 2 * j, both);
  }
}

// One step of a transposition by perfect shuffles, of which four transpose a square of words.
[[gnu::always_inline]] inline void shuffle_words(const Words* in, Words* out) {
  for (int i = 0; i < kFloats / 2; ++i) {
    const Words a = in[i], b = in[i + kFloats / 2];
    out[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    out[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

// A b whose columns are contiguous: a pair is a word of it.
void pack_columns(const u16* b, i64 b_column, i64 k, i64 n, u16* packed) {
  const i64 pairs = (k + 1) / 2;
  for (i64 column = 0; column < (n + kBfloat16Panel - 1) / kBfloat16Panel * kBfloat16Panel; column += kFloats) {
    const i64 columns = smaller(kFloats, n - column);
    const u16* const from = b + column * b_column;
    u16* const to = packed + column / kBfloat16Panel * pairs * kPairsRow + column % kBfloat16Panel * 2;
    i64 p = 0;
    for (; 2 * (p + kFloats) <= k; p += kFloats) {
      Words square[kFloats], other[kFloats];
      for (i64 j = 0; j < kFloats; ++j) square[j] = j < columns ? load_words(from + j * b_column + 2 * p) : Words{};
      shuffle_words(square, other);
      shuffle_words(other, square);
      shuffle_words(square, other);
      shuffle_words(other, square);
      for (i64 j = 0; j < kFloats; ++j) store_words(to + (p + j) * kPairsRow, square[j]);
    }
    for (; p < pairs; ++p) {
      for (i64 j = 0; j < kFloats; ++j) {
        to[p * kPairsRow + 2 * j] = j < columns ? from[j * b_column + 2 * p] : u16{0};
        to[p * kPairsRow + 2 * j + 1] = j < columns && 2 * p + 1 < k ? from[j * b_column + 2 * p + 1] : u16{0};
      }
    }
  }
}

// Row by row: b comes from memory more often than packed goes there.
void pack(const u16* b, i64 b_row, i64 b_column, i64 k, i64 n, u16* packed) {
  if (b_row == 1 && b_column != 1) return pack_columns(b, b_column, k, n, packed);
  const i64 panel = (k + 1) / 2 * kPairsRow;
  for (i64 p = 0; p < k; p += 2) {
    const bool has_second = p + 1 < k;
    for (i64 column = 0; column < n; column += kBfloat16Panel) {
      const i64 columns = smaller(kBfloat16Panel, n - column);
      const u16* const from = b + p * b_row + column * b_column;
      u16* const to = packed + column / kBfloat16Panel * panel + p / 2 * kPairsRow;
      if (b_column == 1) {
        pack_pair_of_rows(from, b_row, has_second, columns, to);
      } else {
        for (i64 j = 0; j < kBfloat16Panel; ++j) {
          to[2 * j] = j < columns ? from[j * b_column] : u16{0};
          to[2 * j + 1] = j < columns && has_second ? from[j * b_column + b_row] : u16{0};
        }
      }
    }
  }
}

void multiply(const u16* a, i64 a_row, i64 m, i64 k, const u16* b, i64 n, float* c, i64 c_row, bool add) {
  const i64 panel = (k + 1) / 2 * kPairsRow;
  for (i64 depth = 0; depth == 0 || depth < k; depth += kDepth) {
    const i64 length = smaller(kDepth, k - depth);
    for (i64 column = 0; column < n; column += kBfloat16Panel) {
      const PairsBlock block = {.pairs = length / 2,
                                .a = a + depth,
                                .a_row = a_row,
                                .a_pair = 2,
                                .odd = length % 2 != 0,
                                .b = b + column / kBfloat16Panel * panel + depth / 2 * kPairsRow,
                                .c = c + column,
                                .c_row = c_row,
                                .columns = smaller(kBfloat16Panel, n - column),
                                .add = add || depth > 0};
      multiply_pairs_rows<true>(block, m);
    }
  }
}

void multiply_packed(const u16* a, i64 m, i64 k, const u16* b, i64 n, float* c, i64 c_row, bool add) {
  const i64 pairs = (k + 1) / 2, panel = pairs * kPairsRow;
  for (i64 row = 0; row < m; row += kBfloat16Panel) {  // the rows of c may be far apart, so few of them at a time
    for (i64 column = 0; column < n; column += kBfloat16Panel) {
      const PairsBlock block = {.pairs = pairs,
                                .a = a + row / kBfloat16Panel * panel,
                                .a_row = 2,
                                .a_pair = kPairsRow,
                                .odd = false,
                                .b = b + column / kBfloat16Panel * panel,
                                .c = c + row * c_row + column,
                                .c_row = c_row,
                                .columns = smaller(kBfloat16Panel, n - column),
                                .add = add};
      multiply_pairs_rows<false>(block, smaller(kBfloat16Panel, m - row));
    }
  }
}

void multiply_tile(const Bfloat16Tile& tile) {
  const i64 pairs = (tile.k + 1) / 2, b_panel = (tile.b_depth + 1) / 2 * kPairsRow;
  for (i64 column = 0; column < tile.n; column += kBfloat16Panel) {
    PairsBlock block = {.pairs = pairs,
                        .a = tile.a,
                        .a_row = 2,
                        .a_pair = kPairsRow,
                        .odd = false,
                        .b = tile.b + column / kBfloat16Panel * b_panel,
                        .c = tile.c != nullptr ? tile.c + column : nullptr,
                        .c_row = tile.c_row,
                        .columns = smaller(kBfloat16Panel, tile.n - column),
                        .add = tile.add,
                        .bias = tile.bias != nullptr ? tile.bias + column : nullptr,
                        .rounded = tile.rounded != nullptr ? tile.rounded + column : nullptr,
                        .rounded_row = tile.rounded_row};
    if (!tile.is_a_packed) {
      block.a_row = tile.a_row;
      block.a_pair = 2;
      block.pairs = tile.k / 2;
      block.odd = tile.k % 2 != 0;
      multiply_pairs_rows<true>(block, tile.m);
      continue;
    }
    for (i64 row = 0; row < tile.m; row += kBfloat16Panel) {
      multiply_pairs_rows<false>(block, smaller(kBfloat16Panel, tile.m - row));
      block.a += pairs * kPairsRow;
      if (block.c != nullptr) block.c += kBfloat16Panel * block.c_row;
      if (block.rounded != nullptr) block.rounded += kBfloat16Panel * block.rounded_row;
    }
  }
}

void sum_rows(const u16* b, i64 k, i64 n, float* sums, bool add) {
  const i64 pairs = (k + 1) / 2;
  const __m512i ones = _mm512_set1_epi32(0x3f803f80);
  for (i64 column = 0; column < n; column += kFloats) {
    const i64 columns = smaller(kFloats, n - column);
    const auto mask = static_cast<__mmask16>((1u << columns) - 1);
    __m512 sum = add ? _mm512_maskz_loadu_ps(mask, sums + column) : _mm512_setzero_ps();
    const u16* from = b + column / kBfloat16Panel * pairs * kPairsRow + column % kBfloat16Panel * 2;
    for (i64 p = 0; p < pairs; ++p) sum = dot(sum, _mm512_loadu_si512(from + p * kPairsRow), ones);
    _mm512_mask_storeu_ps(sums + column, mask, sum);
  }
}

constexpr Bfloat16GemmLoops kLoops = {pack, multiply, multiply_packed, multiply_tile, sum_rows};

}  // namespace

namespace v4_bf16 {
const Bfloat16GemmLoops* bfloat16_gemm_loops() { return &kLoops; }
}  // namespace v4_bf16

}  // namespace kusari::cpu
