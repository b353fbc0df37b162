#include "kusari/framework/cpu/isa/gemm.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace kusari::cpu {
namespace {

using km::i64;

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kBlockRows = 8;  // kBlockRows x kBlockVectors accumulators stay in registers
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kBlockRows = 4;
#else
constexpr int kVectorBytes = 16;
constexpr int kBlockRows = 4;
#endif
constexpr int kBlockVectors = 2;
constexpr i64 kBlockDepth = 256;  // a packed panel of b stays in the first-level cache
constexpr i64 kDirectRows = 32;   // up to so many rows of c, rows of b are read where they lie
static_assert(kBlockDepth * kBlockVectors * kVectorBytes <= kGemmWorkspace);

template <class T>
struct Simd {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
};

template <class T>
using Vector = typename Simd<T>::Vector;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(to) = value;
}

#if defined(__x86_64__) && !defined(__FMA__)
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
  for (; m >= kBlockRows; advance(kBlockRows)) multiply<T, kBlockRows, kVectors, kAlongK>(block);
  if constexpr (kBlockRows > 4) {
    if (m >= 4) {
      multiply<T, 4, kVectors, kAlongK>(block);
      advance(4);
    }
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

template <class T, int kVectors>
void multiply_panel(const GemmCall& call, i64 begin, i64 depth_begin) {
  constexpr int kLanes = Simd<T>::kLanes;
  const i64 depth_left = call.k - depth_begin;
  Block<T> block;
  block.depth = depth_left < kBlockDepth ? depth_left : kBlockDepth;
  block.a = static_cast<const T*>(call.a) + depth_begin * call.a_column;
  block.a_row = call.a_row;
  block.a_column = call.a_column;
  block.c = static_cast<T*>(call.c) + begin;
  block.c_row = call.c_row;
  block.columns = call.n - begin;
  block.accumulate = depth_begin > 0;
  block.bias = call.bias != nullptr && depth_left <= kBlockDepth ? static_cast<const T*>(call.bias) + begin : nullptr;

  const T* b = static_cast<const T*>(call.b) + depth_begin * call.b_row + begin * call.b_column;
  if (call.b_column == 1 && call.m <= kDirectRows && block.columns >= kVectors * kLanes) {
    block.b = b;
    block.b_row = call.b_row;
  } else {
    T* const packed = static_cast<T*>(call.workspace);
    block.b = packed;
    block.b_row = kVectors * kLanes;
    for (int v = 0; v < kVectors; ++v) {
      const i64 columns = block.columns - v * kLanes;
      if (call.b_column == 1) {
        pack_rows(b + v * kLanes, call.b_row, block.depth, columns, packed + v * kLanes, block.b_row);
      } else {
        pack_transposed(b + v * kLanes * call.b_column, call.b_column, block.depth, columns, packed + v * kLanes,
                        block.b_row);
      }
    }
  }
  if (call.a_column == 1) {
    multiply_rows<T, kVectors, true>(block, call.m);
  } else {
    multiply_rows<T, kVectors, false>(block, call.m);
  }
}

// One row of a against columns of b that are contiguous: reading b bounds the time, so it is read once and never
// packed. The k-th product goes to lane k modulo the 64 bytes of a cache line, and the lanes are added in a tree, the
// same for every instruction set.
template <class T, int kColumns>
void dot_columns(const GemmCall& call, i64 column) {
  constexpr int kLanes = Simd<T>::kLanes, kLine = 64 / static_cast<int>(sizeof(T)), kVectors = kLine / kLanes;
  const T* const a = static_cast<const T*>(call.a);
  const T* const b = static_cast<const T*>(call.b) + column * call.b_column;
  Vector<T> sum[kColumns][kVectors] = {};
  i64 p = 0;
  for (; p + kLine <= call.k; p += kLine) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector<T> left = load(a + p + v * kLanes);
      for (int j = 0; j < kColumns; ++j) {
        sum[j][v] = multiply_add<T>(left, load(b + j * call.b_column + p + v * kLanes), sum[j][v]);
      }
    }
  }
  for (int j = 0; j < kColumns; ++j) {
    T lanes[kLine];
    for (int v = 0; v < kVectors; ++v) store(lanes + v * kLanes, sum[j][v]);
    for (i64 q = p; q < call.k; ++q) lanes[q - p] += a[q] * b[j * call.b_column + q];
    for (int width = kLine / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    const T bias = call.bias != nullptr ? static_cast<const T*>(call.bias)[column + j] : T{};
    static_cast<T*>(call.c)[column + j] = lanes[0] + bias;
  }
}

template <class T>
void gemm_row(const GemmCall& call) {
  i64 column = 0;
  for (; column + 4 <= call.n; column += 4) dot_columns<T, 4>(call, column);
  for (; column < call.n; ++column) dot_columns<T, 1>(call, column);
}

template <class T>
void gemm(const GemmCall& call) {
  if (call.m == 1 && call.a_column == 1 && call.b_row == 1 && call.b_column != 1) return gemm_row<T>(call);
  constexpr i64 kLanes = Simd<T>::kLanes;
  for (i64 depth = 0; depth < call.k; depth += kBlockDepth) {
    i64 column = 0;
    for (; column + kLanes < call.n; column += kBlockVectors * kLanes) {
      multiply_panel<T, kBlockVectors>(call, column, depth);
    }
    if (column < call.n) multiply_panel<T, 1>(call, column, depth);
  }
}

constexpr GemmLoops kLoops = {&gemm<float>, &gemm<double>};

}  // namespace

namespace KUSARI_ISA {
const GemmLoops* gemm_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
