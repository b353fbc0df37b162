#pragma once

#include "kusari/framework/kernels/macros.h"

// The CPU backend's own matrix product: the only one for small matrices, float64 and builds without oneDNN. Compiled
// once per instruction set like the loops beside it, see loops.h.

namespace kusari::cpu {

/// c = a b + bias. Strides are in elements; a and b each have a unit stride along rows or columns, c along its rows.
struct GemmCall {
  km::i64 m, n, k;
  const void* a;  // (m, k)
  km::i64 a_row, a_column;
  const void* b;  // (k, n)
  km::i64 b_row, b_column;
  void* c;  // (m, n)
  km::i64 c_row;
  const void* bias;  // (n), or null
  void* workspace;   // kGemmWorkspace bytes, 64-byte aligned
};
constexpr km::i64 kGemmWorkspace = 32768;

/// The order of summation depends on k alone (and on whether m is 1): the same bits for any division of c among
/// threads, and in every instruction set: each product is added with one rounding.
using Gemm = void (*)(const GemmCall& call);

/// c[j] = sum of a[i] b[i + j b_column] for i in [0, k), j in [0, n): b of 16 bits, widened as it is read.
using NarrowRow = void (*)(const float* a, const void* b, km::i64 b_column, km::i64 n, km::i64 k, float* c);

struct GemmLoops {
  Gemm f32;
  Gemm f64;
  NarrowRow float16_row;
  NarrowRow bfloat16_row;
};

}  // namespace kusari::cpu

#define KUSARI_DECLARE_GEMM(isa) \
  namespace kusari::cpu::isa {   \
  const GemmLoops* gemm_loops(); \
  }
KUSARI_DECLARE_GEMM(v1)
KUSARI_DECLARE_GEMM(v3)
KUSARI_DECLARE_GEMM(v4)
#undef KUSARI_DECLARE_GEMM
