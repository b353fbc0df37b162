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
        for (i64 l = 0; l < m; ++l) sum[l] = T(0);
        for (i64 r = 0; r < rows; ++r) {
          const T* const from = x + r * stride;
          T* const to = y + r * stride;
#pragma omp simd
          for (i64 l = 0; l < m; ++l) {
            const T e = km::exp(from[l] - top[l]);
            to[l] = e;
            sum[l] += e;
          }
        }
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
        for (i64 l = 0; l < m; ++l) sum[l] = T(0);
        for (i64 r = 0; r < rows; ++r) {
          const T* const from = x + r * stride;
#pragma omp simd
          for (i64 l = 0; l < m; ++l) sum[l] += km::exp(from[l] - top[l]);
        }
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
        for (i64 l = 0; l < m; ++l) sum[l] = T(0);
        for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
          for (i64 l = 0; l < m; ++l) sum[l] += y[r * stride + l] * gy[r * stride + l];
        }
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
        for (i64 l = 0; l < m; ++l) sum[l] = T(0);
        for (i64 r = 0; r < rows; ++r) {
#pragma omp simd
          for (i64 l = 0; l < m; ++l) sum[l] += gy[r * stride + l];
        }
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
