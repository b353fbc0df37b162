#pragma once

#include "kusari/framework/cpu/isa/simd.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

// The innermost loops of the matrix product. Included only by the sources beside it, each of which has its own copy of
// everything here.
namespace kusari::cpu {
namespace {

using km::i64;

// kBlockRows x kBlockVectors accumulators stay in registers.
constexpr int kBlockRows = kVectorBytes == 64 ? 12 : (kVectorBytes == 32 ? 6 : 4);
constexpr int kBlockVectors = 2;

#if defined(__x86_64__) && !defined(__FMA__)
constexpr bool kFusesBySteps = true;  // multiply_add has no instruction of its own
// a * b + c rounded once, as newer processors do it in one instruction, so that SSE2 gives the same bits. The product
// of two floats is exact in double; rounding the double sum to odd leaves the last word to the rounding to float
// (Boldo and Melquiond 2008).
[[gnu::always_inline]] inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c, back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  km::u64 bits = __builtin_bit_cast(km::u64, sum);
  if ((error > 0 || error < 0) && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(__builtin_bit_cast(double, bits));
}
[[gnu::always_inline]] inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
constexpr bool kFusesBySteps = false;
#endif

// sum + left * right, rounded once on x86-64.
template <class T>
[[gnu::always_inline]] inline Vector<T> multiply_add(Vector<T> left, Vector<T> right, Vector<T> sum) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return _mm512_fmadd_ps(left, right, sum);
  } else {
    return _mm512_fmadd_pd(left, right, sum);
  }
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) {
    return _mm256_fmadd_ps(left, right, sum);
  } else {
    return _mm256_fmadd_pd(left, right, sum);
  }
#elif defined(__x86_64__)
  Vector<T> result;
  for (int i = 0; i < Simd<T>::kLanes; ++i) result[i] = fused(left[i], right[i], sum[i]);
  return result;
#else
  return sum + left * right;
#endif
}

template <class T>
struct Block {
  i64 depth;
  const T* a;
  i64 a_row, a_column;
  const T* b;
  i64 b_row;
  T* c;
  i64 c_row;
  i64 columns;      // of c; fewer than the block's vectors hold at the right edge
  bool accumulate;  // c holds the sum over earlier k
  const T* bias;    // null until the last k
};

template <class T>
[[gnu::always_inline]] inline Vector<T> load_first(const T* from, i64 count) {
  if (count >= Simd<T>::kLanes) return load(from);
  T padded[Simd<T>::kLanes] = {};
  for (i64 i = 0; i < count; ++i) padded[i] = from[i];
  return load(padded);
}
template <class T>
[[gnu::always_inline]] inline void store_first(T* to, Vector<T> value, i64 count) {
  if (count >= Simd<T>::kLanes) return store(to, value);
  T padded[Simd<T>::kLanes];
  store(padded, value);
  for (i64 i = 0; i < count; ++i) to[i] = padded[i];
}

// kAlongK: a's unit stride is the one along k.
template <class T, int kRows, int kVectors, bool kAlongK>
void multiply(const Block<T>& block) {
  constexpr int kLanes = Simd<T>::kLanes;
  Vector<T> sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = block.accumulate ? load_first(block.c + r * block.c_row + v * kLanes, block.columns - v * kLanes)
                                   : Vector<T>{};
    }
  }
  const T* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = block.a + (kAlongK ? r * block.a_row : r);
  const T* b = block.b;
  const i64 step = kAlongK ? 1 : block.a_column, depth = block.depth, b_row = block.b_row;
  for (i64 p = 0; p < depth; ++p) {
    Vector<T> right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const Vector<T> left = (kAlongK ? rows[r][p] : rows[0][r]) - Vector<T>{};  // in every lane
      for (int v = 0; v < kVectors; ++v) sum[r][v] = multiply_add<T>(left, right[v], sum[r][v]);
    }
    if (!kAlongK) rows[0] += step;
    b += b_row;
  }
  for (int v = 0; v < kVectors; ++v) {
    const i64 columns = block.columns - v * kLanes;
    const Vector<T> bias = block.bias != nullptr ? load_first(block.bias + v * kLanes, columns) : Vector<T>{};
    for (int r = 0; r < kRows; ++r) {
      if (block.bias != nullptr) sum[r][v] += bias;
      store_first(block.c + r * block.c_row + v * kLanes, sum[r][v], columns);
    }
  }
}

template <class T, int kVectors, bool kAlongK>
void multiply_rows(Block<T> block, i64 m) {
  const auto advance = [&](int rows) {
    block.a += rows * block.a_row;
    block.c += rows * block.c_row;
    m -= rows;
  };
  // A last block of few rows waits for its own sums, which two blocks of middle height do not.
  constexpr int kMiddle = kBlockRows > 8 ? 8 : 4;
  const auto splits_in_two = [](i64 rows) {
    return kMiddle < kBlockRows && rows >= 2 * kMiddle && rows < kMiddle * 5 / 2;
  };
  for (; m >= kBlockRows && !splits_in_two(m); advance(kBlockRows)) {
    multiply<T, kBlockRows, kVectors, kAlongK>(block);
  }
  if constexpr (kBlockRows > 8) {
    for (; m >= 8; advance(8)) multiply<T, 8, kVectors, kAlongK>(block);
  }
  if constexpr (kBlockRows > 4) {
    for (; m >= 4; advance(4)) multiply<T, 4, kVectors, kAlongK>(block);
  }
  if (m >= 2) {
    multiply<T, 2, kVectors, kAlongK>(block);
    advance(2);
  }
  if (m >= 1) multiply<T, 1, kVectors, kAlongK>(block);
}

// One step of a transposition by perfect shuffles: log2(lanes) of them transpose a square of vectors.
template <class T>
[[gnu::always_inline]] inline void shuffle_square(const Vector<T>* in, Vector<T>* out) {
  constexpr int kLanes = Simd<T>::kLanes;
  for (int i = 0; i < kLanes / 2; ++i) {
    const Vector<T> a = in[i], b = in[i + kLanes / 2];
    if constexpr (kLanes == 2) {
      out[0] = __builtin_shufflevector(a, b, 0, 2);
      out[1] = __builtin_shufflevector(a, b, 1, 3);
    } else if constexpr (kLanes == 4) {
      out[2 * i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      out[2 * i + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    } else if constexpr (kLanes == 8) {
      out[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      out[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    } else {
      out[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      out[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
  }
}

// to[p * to_row + j] = from[j * from_column + p] for the `columns` columns of one vector; the other lanes become zero.
template <class T>
void pack_transposed(const T* from, i64 from_column, i64 depth, i64 columns, T* to, i64 to_row) {
  constexpr int kLanes = Simd<T>::kLanes;
  i64 p = 0;
  for (; p + kLanes <= depth; p += kLanes) {
    Vector<T> square[kLanes], other[kLanes];
    for (int j = 0; j < kLanes; ++j) square[j] = j < columns ? load(from + j * from_column + p) : Vector<T>{};
    for (int width = 1; width < kLanes; width *= 2) {
      shuffle_square<T>(square, other);
      for (int j = 0; j < kLanes; ++j) square[j] = other[j];
    }
    for (int j = 0; j < kLanes; ++j) store(to + (p + j) * to_row, square[j]);
  }
  for (; p < depth; ++p) {
    for (int j = 0; j < kLanes; ++j) to[p * to_row + j] = j < columns ? from[j * from_column + p] : T{};
  }
}

template <class T>
void pack_rows(const T* from, i64 from_row, i64 depth, i64 columns, T* to, i64 to_row) {
  for (i64 p = 0; p < depth; ++p) store(to + p * to_row, load_first(from + p * from_row, columns));
}

}  // namespace
}  // namespace kusari::cpu
