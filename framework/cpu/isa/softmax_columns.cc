#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

/// Columns that are worked on together: their maxima and sums stay in registers or near.
template <class T>
constexpr i64 kStripe = 256 / sizeof(T);

/// Calls body(first column, how many) for whole stripes, which it is compiled for, and for the rest.
template <class T, class Body>
__attribute__((always_inline)) inline void for_each_stripe(i64 n, const Body& body) {
  i64 begin = 0;
  for (; begin + kStripe<T> <= n; begin += kStripe<T>) body(begin, kStripe<T>);
  if (begin < n) body(begin, n - begin);
}

/// Rows that are summed by themselves before their sum is added to the rest: one long chain of additions would round
/// off digits of sums over many rows.
constexpr i64 kSummedRows = 64;

/// sum[l] = the sum over rows r of term(r, l) for m columns.
template <class T, class Term>
__attribute__((always_inline)) inline void sum_columns(i64 rows, i64 m, T* sum, const Term& term) {
  for (i64 l = 0; l < m; ++l) sum[l] = T(0);
  for (i64 begin = 0; begin < rows; begin += kSummedRows) {
    const i64 end = begin + kSummedRows < rows ? begin + kSummedRows : rows;
    T part[kStripe<T>];
    for (i64 l = 0; l < m; ++l) part[l] = T(0);
    for (i64 r = begin; r < end; ++r) {
#pragma omp simd
      for (i64 l = 0; l < m; ++l) part[l] += term(r, l);
    }
    for (i64 l = 0; l < m; ++l) sum[l] += part[l];
  }
}

/// Of each column; a NaN may be missed here: it shows in the sum of exponentials.
template <class T>
__attribute__((always_inline)) inline void largest_of(const T* x, i64 rows, i64 stride, i64 m, T* top) {
  for (i64 l = 0; l < m; ++l) top[l] = x[l];
  for (i64 r = 1; r < rows; ++r) {
    const T* const row = x + r * stride;
#pragma omp simd
    for (i64 l = 0; l < m; ++l) top[l] = top[l] < row[l] ? row[l] : top[l];
  }
}

template <class T>
void softmax_columns(const void* in, void* out, i64 rows, i64 stride, i64 n) {
  for_each_stripe<T>(
      n, [&](i64 first, i64 m) __attribute__((always_inline)) {
        const T* const x = static_cast<const T*>(in) + first;
        T* const y = static_cast<T*>(out) + first;
        T top[kStripe<T>], sum[kStripe<T>];
        largest_of(x, rows, stride, m, top);
        sum_columns(
            rows, m, sum, [&](i64 r, i64 l) __attribute__((always_inline)) {
              return y[r * stride + l] = km::exp(x[r * stride + l] - top[l]);
            });
        for (i64 l = 0; l < m; ++l) sum[l] = T(1) / sum[l];
        for (i64 r = 0; r < rows; ++r) {
          T* const to = y + r * stride;
#pragma omp simd
          for (i64 l = 0; l < m; ++l) to[l] *= sum[l];
        }
      });
}

template <class T>
void log_softmax_columns(const void* in, void* out, i64 rows, i64 stride, i64 n) {
  for_each_stripe<T>(
      n, [&](i64 first, i64 m) __attribute__((always_inline)) {
        const T* const x = static_cast<const T*>(in) + first;
        T* const y = static_cast<T*>(out) + first;
        T top[kStripe<T>], sum[kStripe<T>];
        largest_of(x, rows, stride, m, top);
        sum_columns(
            rows, m,
            sum, [&](i64 r, i64 l) __attribute__((always_inline)) { return km::exp(x[r * stride + l] - top[l]); });
#pragma omp simd
        for (i64 l = 0; l < m; ++l) sum[l] = km::log(sum[l]);
        for (i64 r = 0; r < rows; ++r) {
          const T* const from = x + r * stride;
          T* const to = y + r * stride;
#pragma omp simd
          for (i64 l = 0; l < m; ++l) to[l] = (from[l] - top[l]) - sum[l];
        }
      });
}

template <class T>
void softmax_grad_columns(const void* results, const void* gradients, void* out, i64 rows, i64 stride, i64 n) {
  for_each_stripe<T>(
      n, [&](i64 first, i64 m) __attribute__((always_inline)) {
        const T *const y = static_cast<const T*>(results) + first, *const gy = static_cast<const T*>(gradients) + first;
        T* const gx = static_cast<T*>(out) + first;
        T sum[kStripe<T>];
        sum_columns(
            rows, m,
            sum, [&](i64 r, i64 l) __attribute__((always_inline)) { return y[r * stride + l] * gy[r * stride + l]; });
        for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
          for (i64 l = 0; l < m; ++l) gx[r * stride + l] = y[r * stride + l] * (gy[r * stride + l] - sum[l]);
        }
      });
}

template <class T>
void log_softmax_grad_columns(const void* results, const void* gradients, void* out, i64 rows, i64 stride, i64 n) {
  for_each_stripe<T>(
      n, [&](i64 first, i64 m) __attribute__((always_inline)) {
        const T *const y = static_cast<const T*>(results) + first, *const gy = static_cast<const T*>(gradients) + first;
        T* const gx = static_cast<T*>(out) + first;
        T sum[kStripe<T>];
        sum_columns(
            rows, m, sum, [&](i64 r, i64 l) __attribute__((always_inline)) { return gy[r * stride + l]; });
        for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
          for (i64 l = 0; l < m; ++l) gx[r * stride + l] = gy[r * stride + l] - km::exp(y[r * stride + l]) * sum[l];
        }
      });
}

template <class T>
constexpr SoftmaxColumnLoop softmax_column_loop() {
  return {&softmax_columns<T>, &log_softmax_columns<T>, &softmax_grad_columns<T>, &log_softmax_grad_columns<T>};
}
constexpr SoftmaxColumnLoops kTable = {softmax_column_loop<float>(), softmax_column_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const SoftmaxColumnLoops* softmax_column_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
