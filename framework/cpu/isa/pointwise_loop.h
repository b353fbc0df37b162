#pragma once

#include "kusari/framework/cpu/isa/loops.h"

// Included only by the sources beside it, each of which has its own copy of everything here.
namespace kusari::cpu {
namespace {

/// Number of arguments of a functor.
template <class Op, class T>
constexpr int arity() {
  if constexpr (requires(const Op& op, T x) { op(x); }) return 1;
  if constexpr (requires(const Op& op, T x) { op(x, x); }) return 2;
  if constexpr (requires(const Op& op, T x) { op(x, x, x); }) return 3;
  return 4;
}

/// Whether some arguments need Op::rare instead of the formula, see math_functions.h.
template <class Op, class T>
concept HasRare = requires(T x) {
  Op::is_rare(x);
};

template <class Op, class T>
void run_pointwise(const Op op, const T* const* in, T* y, i64 n) {
  if constexpr (arity<Op, T>() == 1) {
    const T* const a = in[0];
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = op(a[i]);
  } else if constexpr (arity<Op, T>() == 2) {
    const T *const a = in[0], *const b = in[1];
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = op(a[i], b[i]);
  } else if constexpr (arity<Op, T>() == 3) {
    const T *const a = in[0], *const b = in[1], *const c = in[2];
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = op(a[i], b[i], c[i]);
  } else {
    const T *const a = in[0], *const b = in[1], *const c = in[2], *const d = in[3];
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = op(a[i], b[i], c[i], d[i]);
  }
}

/// Blocks with a rare argument are computed element by element.
template <class Op, class T>
void run_with_rare(const Op op, const T* x, T* y, i64 n) {
  constexpr i64 kBlock = 256;
  for (i64 begin = 0; begin < n; begin += kBlock) {
    const i64 m = n - begin < kBlock ? n - begin : kBlock;
    const T* const from = x + begin;
    T* const to = y + begin;
    int rare = 0;
    for (i64 i = 0; i < m; ++i) rare |= Op::is_rare(from[i]) ? 1 : 0;
    if (rare == 0) {
      run_pointwise<Op, T>(op, &from, to, m);
    } else {
      for (i64 i = 0; i < m; ++i) to[i] = Op::is_rare(from[i]) ? Op::rare(from[i]) : op(from[i]);
    }
  }
}

template <class Op, class T>
void pointwise_loop(const void* op, const void* const* in, void* out, i64 n) {
  const T* operands[arity<Op, T>()];
  for (int k = 0; k < arity<Op, T>(); ++k) operands[k] = static_cast<const T*>(in[k]);
  const Op& functor = *static_cast<const Op*>(op);
  if constexpr (HasRare<Op, T>) {
    run_with_rare<Op, T>(functor, operands[0], static_cast<T*>(out), n);
  } else {
    run_pointwise<Op, T>(functor, operands, static_cast<T*>(out), n);
  }
}

/// For functors that say kByScalar: x * scale, x - mean.
template <class Op, class T>
void pointwise_loop_by_scalar(const void* opaque, const void* const* in, void* out, i64 n) {
  const Op op = *static_cast<const Op*>(opaque);
  const T* const a = static_cast<const T*>(in[0]);
  const T b = *static_cast<const T*>(in[1]);
  T* const y = static_cast<T*>(out);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = op(a[i], b);
}

template <class Op>
constexpr PointwiseLoops pointwise_loops() {
  PointwiseLoops loops = {&pointwise_loop<Op, float>, &pointwise_loop<Op, double>, nullptr, nullptr};
  if constexpr (requires { Op::kIntegers; }) loops.i64 = &pointwise_loop<Op, i64>;
  if constexpr (requires { Op::kByScalar; }) loops.f32_by_scalar = &pointwise_loop_by_scalar<Op, float>;
  return loops;
}

}  // namespace
}  // namespace kusari::cpu

/// Defines `const PointwiseLoops* name()`, the loops of the functors of OPS in the list's order.
#define KUSARI_POINTWISE_TABLE_ENTRY(Op) pointwise_loops<kernels::Op>(),
#define KUSARI_POINTWISE_LOOPS(name, OPS)                                  \
  namespace kusari::cpu {                                                  \
  namespace {                                                              \
  constexpr PointwiseLoops kTable[] = {OPS(KUSARI_POINTWISE_TABLE_ENTRY)}; \
  }                                                                        \
  namespace KUSARI_ISA {                                                   \
  const PointwiseLoops* name() { return kTable; }                          \
  }                                                                        \
  }
