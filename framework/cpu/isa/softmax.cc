#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

/// Accumulators side by side, the same number in every instruction set.
constexpr i64 kLanes = 16;

/// Lane l after the lanes above kCount were added to those below, and so on: an expression, because partial sums in
/// memory would be read in other sizes than they were written.
template <i64 kCount, class T>
__attribute__((always_inline)) inline T sum_at(const T* lane, i64 l) {
  if constexpr (kCount == kLanes) {
    return lane[l];
  } else {
    return sum_at<2 * kCount>(lane, l) + sum_at<2 * kCount>(lane, l + kCount);
  }
}
template <class T>
__attribute__((always_inline)) inline T total_of(const T* lane) {
  return sum_at<1>(lane, 0);
}

template <class T>
__attribute__((always_inline)) inline T larger(T a, T b) {
  return a < b ? b : a;
}
template <i64 kCount, class T>
__attribute__((always_inline)) inline T largest_at(const T* lane, i64 l) {
  if constexpr (kCount == kLanes) {
    return lane[l];
  } else {
    return larger(largest_at<2 * kCount>(lane, l), largest_at<2 * kCount>(lane, l + kCount));
  }
}

/// A NaN may be missed here: it shows in the sum of exponentials.
template <class T>
T largest(const T* x, i64 n) {
  T lane[kLanes];
  if (n < kLanes) {
    const T first = x[0];
    for (i64 l = 0; l < kLanes; ++l) lane[l] = l < n ? x[l] : first;
    return largest_at<1>(lane, 0);
  }
#pragma omp simd
  for (i64 l = 0; l < kLanes; ++l) lane[l] = larger(x[l], x[n - kLanes + l]);
  for (i64 i = kLanes; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) lane[l] = larger(lane[l], x[i + l]);
  }
  return largest_at<1>(lane, 0);
}

/// to[0 .. n) = from[0 .. n), 0 <= n <= kLanes, in at most two overlapping moves.
template <class T>
__attribute__((always_inline)) inline void copy_few(const T* from, T* to, i64 n) {
  if (n >= 8) {
    __builtin_memcpy(to, from, 8 * sizeof(T));
    __builtin_memcpy(to + n - 8, from + n - 8, 8 * sizeof(T));
  } else if (n >= 4) {
    __builtin_memcpy(to, from, 4 * sizeof(T));
    __builtin_memcpy(to + n - 4, from + n - 4, 4 * sizeof(T));
  } else if (n > 0) {
    to[n / 2] = from[n / 2];
    to[0] = from[0];
    to[n - 1] = from[n - 1];
  }
}

/// e = exp(x - shift) for the last n < kLanes elements of a row, added to the lanes. A tail is padded, so that it is as
/// fast as the rest.
template <class T>
__attribute__((always_inline)) inline void exp_tail(const T* x, T shift, i64 n, T* e, T* sum) {
  for (i64 l = 0; l < kLanes; ++l) e[l] = l < n ? x[l] : shift;
#pragma omp simd
  for (i64 l = 0; l < kLanes; ++l) {
    e[l] = km::exp(e[l] - shift);
    sum[l] += l < n ? e[l] : T(0);
  }
}

/// The sum of exp(x - shift), which also goes to y unless y is null.
template <bool kStore, class T>
T sum_of_exp(const T* x, T shift, T* y, i64 n) {
  T sum[kLanes];
  for (i64 l = 0; l < kLanes; ++l) sum[l] = T(0);
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      const T e = km::exp(x[i + l] - shift);
      if constexpr (kStore) y[i + l] = e;
      sum[l] += e;
    }
  }
  if (i < n) {
    T tail[kLanes];
    exp_tail(x + i, shift, n - i, tail, sum);
    if constexpr (kStore) copy_few(tail, y + i, n - i);
  }
  return total_of(sum);
}

/// sum(a[i] b[i]), or sum(a[i]) when b is null.
template <bool kProduct, class T>
T sum_of(const T* a, const T* b, i64 n) {
  T sum[kLanes];
  for (i64 l = 0; l < kLanes; ++l) sum[l] = T(0);
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) sum[l] += kProduct ? a[i + l] * b[i + l] : a[i + l];
  }
  for (i64 l = 0; i + l < n; ++l) sum[l] += kProduct ? a[i + l] * b[i + l] : a[i + l];
  return total_of(sum);
}

template <class T>
void scale(T* y, T factor, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] *= factor;
}

/// y = softmax(x); returns the sum of exp(x - shift).
template <class T>
T softmax_row(const T* x, T shift, T* y, i64 n) {
  if (n < kLanes) {  // without a second look at y
    T e[kLanes], sum[kLanes] = {};
    exp_tail(x, shift, n, e, sum);
    const T total = total_of(sum), factor = T(1) / total;
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) e[l] *= factor;
    copy_few(e, y, n);
    return total;
  }
  const T total = sum_of_exp<true>(x, shift, y, n);
  scale(y, T(1) / total, n);
  return total;
}

template <class T>
void softmax(const void* in, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  softmax_row(x, largest(x, n), static_cast<T*>(out), n);
}

template <class T>
void softmax_grad(const void* results, const void* gradients, void* out, i64 n) {
  const T *const y = static_cast<const T*>(results), *const gy = static_cast<const T*>(gradients);
  T* const gx = static_cast<T*>(out);
  const T sum = sum_of<true>(y, gy, n);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = y[i] * (gy[i] - sum);
}

template <class T>
void log_softmax(const void* in, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  T* const y = static_cast<T*>(out);
  const T shift = largest(x, n), log_sum = km::log(sum_of_exp<false, T>(x, shift, nullptr, n));
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = (x[i] - shift) - log_sum;
}

template <class T>
void log_softmax_grad(const void* results, const void* gradients, void* out, i64 n) {
  const T *const y = static_cast<const T*>(results), *const gy = static_cast<const T*>(gradients);
  T* const gx = static_cast<T*>(out);
  const T sum = sum_of<false, T>(gy, nullptr, n);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = gy[i] - km::exp(y[i]) * sum;
}

template <class T>
void logsumexp(const void* in, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  const T top = largest(x, n);
  const T shift = km::isinf(top) ? T(0) : top;  // inf - inf is not a number
  *static_cast<T*>(out) = shift + km::log(sum_of_exp<false, T>(x, shift, nullptr, n));
}

template <class T>
void cross_entropy(const void* in, i64 label, void* sum, void* score, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  T* const p = static_cast<T*>(out);
  const T shift = largest(x, n);
  *static_cast<T*>(score) = x[label] - shift;
  *static_cast<T*>(sum) = p != nullptr ? softmax_row(x, shift, p, n) : sum_of_exp<false, T>(x, shift, nullptr, n);
}

template <class T>
void cross_entropy_loss(const void* sums, const void* scores, void* out, i64 n) {
  const T *const sum = static_cast<const T*>(sums), *const score = static_cast<const T*>(scores);
  T* const loss = static_cast<T*>(out);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) loss[i] = km::log(sum[i]) - score[i];
}

template <class T>
void cross_entropy_grad(const void* in, bool is_rounded, i64 label, double factor, void* out, i64 n) {
  const T* const p = static_cast<const T*>(in);
  T* const gx = static_cast<T*>(out);
  const T f = static_cast<T>(factor);
  T rest = T(1) - p[label];
  if (sizeof(T) == 4 && is_rounded && p[label] > T(0.5)) {  // few digits are left of 1 - p, or none
    rest = sum_of<false, T>(p, nullptr, label) + sum_of<false, T>(p + label + 1, nullptr, n - label - 1);
  }
  const T at_label = -f * rest;
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = f * p[i];
  gx[label] = at_label;
}

template <class T>
constexpr SoftmaxLoop softmax_loop() {
  return {&softmax<T>,   &softmax_grad<T>,  &log_softmax<T>,        &log_softmax_grad<T>,
          &logsumexp<T>, &cross_entropy<T>, &cross_entropy_loss<T>, &cross_entropy_grad<T>};
}
constexpr SoftmaxLoops kTable = {softmax_loop<float>(), softmax_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const SoftmaxLoops* softmax_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
