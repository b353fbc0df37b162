#include "kusari/framework/cpu/isa/optimizer.h"

#include "kusari/framework/kernels/optimizer.h"

namespace kusari::cpu {
namespace {

template <class Op, class T>
void step_loop(const double* numbers, const void* read, double read_rate, void* const* arrays, i64 n) {
  Op members;
  __builtin_memcpy(&members, numbers, sizeof(Op));
  const Op op = members;
  if constexpr (requires { op.is_identity(); }) {
    if (op.is_identity()) return;
  }
  const T* const g = static_cast<const T*>(read);
  const T rate = static_cast<T>(read_rate);  // a product with 1 is exact
  T* const p = static_cast<T*>(arrays[0]);
  if constexpr (Op::kStates == 0) {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) op(g[i] * rate, p[i]);
  } else if constexpr (Op::kStates == 1) {
    T* const s = static_cast<T*>(arrays[1]);
#pragma omp simd
    for (i64 i = 0; i < n; ++i) op(g[i] * rate, p[i], s[i]);
  } else if constexpr (Op::kStates == 2) {
    T *const s = static_cast<T*>(arrays[1]), *const u = static_cast<T*>(arrays[2]);
#pragma omp simd
    for (i64 i = 0; i < n; ++i) op(g[i] * rate, p[i], s[i], u[i]);
  } else {
    T *const s = static_cast<T*>(arrays[1]), *const u = static_cast<T*>(arrays[2]),
             *const w = static_cast<T*>(arrays[3]);
#pragma omp simd
    for (i64 i = 0; i < n; ++i) op(g[i] * rate, p[i], s[i], u[i], w[i]);
  }
}

template <class Op>
constexpr StepLoops loops_of() {
  return {&step_loop<Op, float>, &step_loop<Op, double>, 1 + Op::kStates};
}

#define KUSARI_STEP_ENTRY(Op) loops_of<kernels::Op>(),
constexpr StepLoops kSteps[] = {KUSARI_OPTIMIZER_STEPS(KUSARI_STEP_ENTRY)};

// Lane i sums elements i, i + 8, ...; the lanes are added in pairs: the same bits for every instruction set.
template <class T>
double square_sum(const void* x, i64 n) {
  constexpr int kLanes = 8;
  const T* const a = static_cast<const T*>(x);
  double lanes[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(a[i + lane]);
      lanes[lane] += value * value;
    }
  }
  for (; i < n; ++i) {
    const double value = static_cast<double>(a[i]);
    lanes[i % kLanes] += value * value;
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

constexpr SquareSumLoops kSquareSum = {&square_sum<float>, &square_sum<double>};

}  // namespace

namespace KUSARI_ISA {
const StepLoops* step_loops() { return kSteps; }
const SquareSumLoops* square_sum_loops() { return &kSquareSum; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
