#include "kusari/framework/cpu/isa/scan.h"

#include "kusari/framework/kernels/reducers.h"

namespace kusari::cpu {
namespace {

/// Neighbouring lines that are computed side by side in registers: four AVX512 registers.
template <class T>
constexpr i64 kLanes = 256 / sizeof(T);
/// Lines apart from each other: enough to hide the latency of an addition.
constexpr i64 kChains = 8;

template <class Op, class T>
struct Accumulate {
  const T* x;
  T first(i64 place) const { return x[place]; }
  T next(T y, i64 place, i64, i64) const { return Op{}.combine(y, x[place]); }
};

/// The recurrence. Its coefficients lie `step` before the elements that they lead to, in lines of their own gap.
template <class T>
struct Recur {
  const T* a;
  i64 a_gap;
  const T* b;
  T first(i64 place) const { return b[place]; }
  T next(T y, i64 place, i64 line, i64 before) const { return a[before + line * a_gap] * y + b[place]; }
};

/// One step of kCount lines from `line` on, whose elements begin at `from`.
template <i64 kCount, bool kAdjacent, class T, class Input>
__attribute__((always_inline)) inline void advance(const Input& in, T* y, i64 from, i64 gap, i64 line, i64 before,
                                                   T* last) {
  if constexpr (kAdjacent) {
#pragma omp simd
    for (i64 k = 0; k < kCount; ++k) {
      last[k] = in.next(last[k], from + k, line + k, before);
      y[from + k] = last[k];
    }
  } else {
    for (i64 k = 0; k < kCount; ++k) {
      last[k] = in.next(last[k], from + k * gap, line + k, before);
      y[from + k * gap] = last[k];
    }
  }
}

template <i64 kCount, bool kAdjacent, class T, class Input>
void scan_lines(const Input& in, T* y, const ScanLines& at, i64 line) {
  const i64 start = line * at.gap;
  T last[kCount];
  for (i64 k = 0; k < kCount; ++k) y[start + k * at.gap] = last[k] = in.first(start + k * at.gap);
  for (i64 i = 1; i < at.length; ++i) {
    advance<kCount, kAdjacent>(in, y, start + i * at.step, at.gap, line, (i - 1) * at.step, last);
  }
}

template <class T, class Input>
void scan(const Input& in, T* y, const ScanLines& at) {
  i64 line = 0;
  if (at.gap == 1) {
    for (; line + kLanes<T> <= at.lines; line += kLanes<T>) scan_lines<kLanes<T>, true>(in, y, at, line);
    for (; line + kChains <= at.lines; line += kChains) scan_lines<kChains, true>(in, y, at, line);
  }
  for (; line + kChains <= at.lines; line += kChains) scan_lines<kChains, false>(in, y, at, line);
  for (; line + 2 <= at.lines; line += 2) scan_lines<2, false>(in, y, at, line);
  for (; line < at.lines; ++line) scan_lines<1, false>(in, y, at, line);
}

template <class Op, class T>
void accumulate(const void* x, void* y, const ScanLines& at) {
  scan(Accumulate<Op, T>{static_cast<const T*>(x)}, static_cast<T*>(y), at);
}

template <class T>
void add_to(const void* first, void* out, i64 n) {
  const T value = *static_cast<const T*>(first);
  T* const y = static_cast<T*>(out);
#pragma omp simd
  for (i64 j = 0; j < n; ++j) y[j] += value;
}

template <class T>
void recurrence(const void* a, i64 a_gap, const void* b, void* y, const ScanLines& at) {
  scan(Recur<T>{static_cast<const T*>(a), a_gap, static_cast<const T*>(b)}, static_cast<T*>(y), at);
}

template <class T>
constexpr ScanLoop scan_loop() {
  return {&accumulate<kernels::Sum, T>, &accumulate<kernels::Prod, T>, &add_to<T>, &recurrence<T>};
}
constexpr ScanLoops kTable = {scan_loop<float>(), scan_loop<double>(), scan_loop<i64>()};

}  // namespace

namespace KUSARI_ISA {
const ScanLoops* scan_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
