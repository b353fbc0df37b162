#include "kusari/framework/cpu/isa/gemm.h"

#include "kusari/framework/cpu/isa/gemm_block.h"

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
