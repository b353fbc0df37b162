#include "kusari/framework/cpu/isa/gemm.h"

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/half.h"

namespace kusari::cpu {
namespace {

constexpr i64 kBlockDepth = 256;  // a packed panel of b stays in the first-level cache
constexpr i64 kDirectRows = 32;   // up to so many rows of c, rows of b are read where they lie
static_assert(kBlockDepth * kBlockVectors * kVectorBytes <= kGemmWorkspace);

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

// Elements of 4 or 8 bytes as they are, those of 2 bytes as float32.
template <class T, class S>
[[gnu::always_inline]] inline Vector<T> load_as(const S* from) {
  if constexpr (sizeof(S) == sizeof(T)) {
    return load(from);
  } else {
    T wide[Simd<T>::kLanes];
    widen_lanes<Simd<T>::kLanes>(from, wide);
    return load(wide);
  }
}

// One row of a against one column of b, both contiguous. Reading b bounds the time, so it is read once, never packed,
// and one column after the other, which the processor sees coming. The k-th product goes to lane k modulo 256 bytes,
// and the lanes are added in a tree, the same for every instruction set.
template <class T, class S>
T dot(const T* a, const S* b, i64 n) {
  constexpr int kLanes = Simd<T>::kLanes, kLine = 64 / static_cast<int>(sizeof(T)), kAll = 4 * kLine;
  constexpr int kVectors = kAll / kLanes;
  Vector<T> sum[kVectors] = {};
  i64 p = 0;
  for (; p + kAll <= n; p += kAll) {
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = multiply_add<T>(load(a + p + v * kLanes), load_as<T>(b + p + v * kLanes), sum[v]);
    }
  }
  const int whole = static_cast<int>((n - p) / kLine * kLine);
  for (int v = 0; v * kLanes < whole; ++v) {
    sum[v] = multiply_add<T>(load(a + p + v * kLanes), load_as<T>(b + p + v * kLanes), sum[v]);
  }
  T lanes[kAll];
  for (int v = 0; v < kVectors; ++v) store(lanes + v * kLanes, sum[v]);
  for (i64 q = p + whole; q < n; ++q) {
    if constexpr (sizeof(S) == 2) {
      T wide;
      widen(b + q, &wide, 1);
      lanes[q - p] += a[q] * wide;
    } else {
      lanes[q - p] += a[q] * b[q];
    }
  }
  for (int width = kAll / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

template <class T>
void gemm_row(const GemmCall& call) {
  const T* const bias = static_cast<const T*>(call.bias);
  for (i64 column = 0; column < call.n; ++column) {
    const T sum = dot(static_cast<const T*>(call.a), static_cast<const T*>(call.b) + column * call.b_column, call.k);
    static_cast<T*>(call.c)[column] = sum + (bias != nullptr ? bias[column] : T{});
  }
}

template <class S>
void narrow_row(const float* a, const void* b, i64 b_column, i64 n, i64 k, float* c) {
  for (i64 column = 0; column < n; ++column) c[column] = dot(a, static_cast<const S*>(b) + column * b_column, k);
}

template <class T>
void gemm(const GemmCall& call) {
  if (call.m == 1 && call.a_column == 1 && call.b_row == 1 && call.b_column != 1) return gemm_row<T>(call);
  constexpr i64 kLanes = Simd<T>::kLanes;
  if (call.k == 0) {
    const T* const bias = static_cast<const T*>(call.bias);
    for (i64 i = 0; i < call.m * call.n; ++i) {
      static_cast<T*>(call.c)[i / call.n * call.c_row + i % call.n] = bias != nullptr ? bias[i % call.n] : T{};
    }
  }
  for (i64 depth = 0; depth < call.k; depth += kBlockDepth) {
    i64 column = 0;
    for (; column + kLanes < call.n; column += kBlockVectors * kLanes) {
      multiply_panel<T, kBlockVectors>(call, column, depth);
    }
    if (column < call.n) multiply_panel<T, 1>(call, column, depth);
  }
}

constexpr GemmLoops kLoops = {&gemm<float>, &gemm<double>, &narrow_row<Half>, &narrow_row<Brain>};

}  // namespace

namespace KUSARI_ISA {
const GemmLoops* gemm_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
