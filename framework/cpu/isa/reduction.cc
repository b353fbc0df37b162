#include "kusari/framework/kernels/reducers.h"

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/simd.h"

namespace kusari::cpu {
namespace {

/// Accumulators side by side, the same number in every instruction set: four AVX512 registers.
template <class T>
constexpr i64 kLanes = 256 / sizeof(T);
/// Elements that one set of accumulators sums before their total goes into the tree.
template <class T>
constexpr i64 kLeaf = 32 * kLanes<T>;

template <class T, i64 kCount>
struct SideBySide {
  typedef T Vector __attribute__((vector_size(kCount * sizeof(T)), aligned(sizeof(T)), may_alias));
};

/// The combination of kCount lanes, a power of two, in pairs. Written with vectors, because the compiler takes the last
/// lanes for single numbers.
template <i64 kCount, class Op, class T>
[[gnu::always_inline]] inline T combine_lanes(const Op op, T* lane) {
  if constexpr (kCount == 1) {
    return lane[0];
  } else {
    constexpr i64 kHalf = kCount / 2, kAtOnce = kHalf < Simd<T>::kLanes ? kHalf : Simd<T>::kLanes;
    using Vector = typename SideBySide<T, kAtOnce>::Vector;
    for (i64 l = 0; l < kHalf; l += kAtOnce) {
      Vector& low = *reinterpret_cast<Vector*>(lane + l);
      low = op.combine(low, *reinterpret_cast<const Vector*>(lane + l + kHalf));
    }
    return combine_lanes<kHalf>(op, lane);
  }
}

template <i64 L, class Op, class T>
T reduce_leaf(const Op op, const T* x, i64 n) {
  T lane[L];
  for (i64 l = 0; l < L; ++l) lane[l] = op.template identity<T>();
  i64 i = 0;
  for (; i + L <= n; i += L) {
#pragma omp simd
    for (i64 l = 0; l < L; ++l) lane[l] = op.combine(lane[l], op.map(x[i + l]));
  }
  for (i64 l = 0; i + l < n; ++l) lane[l] = op.combine(lane[l], op.map(x[i + l]));
  return combine_lanes<L>(op, lane);
}

/// Leaves of kLeaf elements, combined in pairs, pairs of pairs and so on: the rounding error grows with log n.
template <class Op, class T>
T reduce_tree(const Op op, const T* x, i64 n) {
  if (n < kLanes<T>) return reduce_leaf<8>(op, x, n);
  T pending[48];  // totals of 2^k leaves, largest first
  int depth = 0;
  i64 leaves = 0;
  for (i64 begin = 0; begin < n; begin += kLeaf<T>) {
    T total = reduce_leaf<kLanes<T>>(op, x + begin, n - begin < kLeaf<T> ? n - begin : kLeaf<T>);
    for (i64 done = ++leaves; (done & 1) == 0; done >>= 1) total = op.combine(pending[--depth], total);
    pending[depth++] = total;
  }
  T total = depth > 0 ? pending[--depth] : op.template identity<T>();
  while (depth > 0) total = op.combine(pending[--depth], total);
  return total;
}

template <class Op, class T>
void reduce_rows(const void* opaque, const void* in, i64 rows, i64 stride, i64 n, void* acc) {
  const Op op = *static_cast<const Op*>(opaque);
  const T* const x = static_cast<const T*>(in);
  for (i64 row = 0; row < rows; ++row) static_cast<T*>(acc)[row] = reduce_tree<Op, T>(op, x + row * stride, n);
}

template <class Op, class T>
void reduce_columns(const void* opaque, const void* in, i64 rows, i64 stride, i64 n, void* out) {
  const Op op = *static_cast<const Op*>(opaque);
  const T* const x = static_cast<const T*>(in);
  T* const acc = static_cast<T*>(out);
  constexpr i64 L = kLanes<T>;
  i64 begin = 0;
  for (; begin + L <= n; begin += L) {  // a stripe of accumulators that stays in registers
    T lane[L];
    for (i64 l = 0; l < L; ++l) lane[l] = acc[begin + l];
    for (i64 r = 0; r < rows; ++r) {
      const T* const row = x + r * stride + begin;
#pragma omp simd
      for (i64 l = 0; l < L; ++l) lane[l] = op.combine(lane[l], op.map(row[l]));
    }
    for (i64 l = 0; l < L; ++l) acc[begin + l] = lane[l];
  }
  for (i64 r = 0; r < rows; ++r) {
    const T* const row = x + r * stride;
#pragma omp simd
    for (i64 j = begin; j < n; ++j) acc[j] = op.combine(acc[j], op.map(row[j]));
  }
}

template <class Op, class T>
void combine_parts(const void* opaque, void* out, const void* in, i64 n) {
  const Op op = *static_cast<const Op*>(opaque);
  T* const acc = static_cast<T*>(out);
  const T* const part = static_cast<const T*>(in);
#pragma omp simd
  for (i64 j = 0; j < n; ++j) acc[j] = op.combine(acc[j], part[j]);
}

template <class Op, class T>
void clear(const void* opaque, void* acc, i64 n) {
  const Op op = *static_cast<const Op*>(opaque);
  for (i64 j = 0; j < n; ++j) static_cast<T*>(acc)[j] = op.template identity<T>();
}

template <class Op, class T>
void finish(const void* opaque, void* out, i64 n, i64 count) {
  const Op op = *static_cast<const Op*>(opaque);
  T* const acc = static_cast<T*>(out);
  const T elements = static_cast<T>(count);
#pragma omp simd
  for (i64 j = 0; j < n; ++j) acc[j] = op.finish(acc[j], elements);
}

template <class Op, class T>
constexpr ReductionLoop reduction_loop() {
  return {&reduce_rows<Op, T>, &reduce_columns<Op, T>, &combine_parts<Op, T>, &clear<Op, T>, &finish<Op, T>};
}

template <class Op>
constexpr ReductionLoops reduction_loops_of() {
  if constexpr (requires { Op::kIntegers; }) {
    return {reduction_loop<Op, float>(), reduction_loop<Op, double>(), reduction_loop<Op, i64>()};
  } else {
    return {reduction_loop<Op, float>(), reduction_loop<Op, double>(), {}};
  }
}

#define KUSARI_REDUCTION_TABLE_ENTRY(Op) reduction_loops_of<kernels::Op>(),
constexpr ReductionLoops kTable[] = {KUSARI_REDUCTIONS(KUSARI_REDUCTION_TABLE_ENTRY)};

/// Whether a beats b: NaN beats all numbers, and equals never beat, so the first one stays.
template <bool kMax, class T>
bool beats(T a, T b) {
  return (kMax ? a > b : a < b) || (a != a && b == b);
}

template <bool kMax, class T>
i64 arg_row(const void* in, i64 n) {
  const T* const x = static_cast<const T*>(in);
  constexpr i64 L = 64;
  T best = x[0];
  i64 place = 0;
  for (i64 begin = 0; begin < n; begin += L) {
    const i64 m = n - begin < L ? n - begin : L;
    int better = 0;
    for (i64 i = 0; i < m; ++i) better |= beats<kMax>(x[begin + i], best) ? 1 : 0;
    if (better == 0) continue;
    for (i64 i = 0; i < m; ++i) {
      if (beats<kMax>(x[begin + i], best)) {
        best = x[begin + i];
        place = begin + i;
      }
    }
  }
  return place;
}

template <bool kMax, class T>
void arg_columns(const void* in, i64 n, i64 row, void* bests, i64* place) {
  const T* const x = static_cast<const T*>(in);
  T* const best = static_cast<T*>(bests);
  for (i64 j = 0; j < n; ++j) {
    const bool better = beats<kMax>(x[j], best[j]);
    best[j] = better ? x[j] : best[j];
    place[j] = better ? row : place[j];
  }
}

template <bool kMax, class T>
constexpr ArgLoop arg_loop() {
  return {&arg_row<kMax, T>, &arg_columns<kMax, T>};
}
constexpr ArgLoops kArgLoops = {arg_loop<true, float>(),  arg_loop<true, double>(),  arg_loop<true, i64>(),
                                arg_loop<false, float>(), arg_loop<false, double>(), arg_loop<false, i64>()};

}  // namespace

namespace KUSARI_ISA {
const ReductionLoops* reduction_loops() { return kTable; }
const ArgLoops* arg_loops() { return &kArgLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
