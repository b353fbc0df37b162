#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

/// Accumulators side by side, the same number in every instruction set.
constexpr i64 kLanes = 16;

template <class T>
T total_of(T* lane) {
  for (i64 width = kLanes / 2; width > 0; width /= 2) {
    for (i64 l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}

template <class T>
T largest(const T* x, i64 n) {
  constexpr i64 L = 64;
  T lane[L], best = x[0];
  i64 i = 0;
  if (n >= L) {
    for (i64 l = 0; l < L; ++l) lane[l] = x[l];
    for (i = L; i + L <= n; i += L) {
#pragma omp simd
      for (i64 l = 0; l < L; ++l) lane[l] = lane[l] < x[i + l] ? x[i + l] : lane[l];
    }
    for (i64 l = 0; l < L; ++l) best = best < lane[l] ? lane[l] : best;
  }
  for (; i < n; ++i) best = best < x[i] ? x[i] : best;
  return best;  // a NaN may be missed here: it shows in the sum
}

/// The sum of exp(x - shift), which also goes to y unless y is null. A tail is padded, so that it is as fast as the
/// rest.
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
    for (i64 l = 0; l < kLanes; ++l) tail[l] = l < n - i ? x[i + l] : -km::Real<T>::kInfinity;
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      tail[l] = km::exp(tail[l] - shift);
      sum[l] += tail[l];
    }
    if constexpr (kStore) {
      for (i64 l = 0; l < n - i; ++l) y[i + l] = tail[l];
    }
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

template <class T>
void softmax(const void* in, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  T* const y = static_cast<T*>(out);
  scale(y, T(1) / sum_of_exp<true>(x, largest(x, n), y, n), n);
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
void cross_entropy(const void* in, i64 label, void* loss, void* out, i64 n) {
  const T* const x = static_cast<const T*>(in);
  T* const p = static_cast<T*>(out);
  const T shift = largest(x, n), score = x[label] - shift;
  const T sum = p != nullptr ? sum_of_exp<true>(x, shift, p, n) : sum_of_exp<false, T>(x, shift, nullptr, n);
  if (p != nullptr) scale(p, T(1) / sum, n);
  *static_cast<T*>(loss) = km::log(sum) - score;
}

template <class T>
void cross_entropy_grad(const void* in, i64 label, double factor, void* out, i64 n) {
  const T* const p = static_cast<const T*>(in);
  T* const gx = static_cast<T*>(out);
  const T f = static_cast<T>(factor), at_label = f * (p[label] - T(1));
#pragma omp simd
  for (i64 i = 0; i < n; ++i) gx[i] = f * p[i];
  gx[label] = at_label;
}

template <class T>
constexpr SoftmaxLoop softmax_loop() {
  return {&softmax<T>,   &softmax_grad<T>,  &log_softmax<T>,       &log_softmax_grad<T>,
          &logsumexp<T>, &cross_entropy<T>, &cross_entropy_grad<T>};
}
constexpr SoftmaxLoops kTable = {softmax_loop<float>(), softmax_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const SoftmaxLoops* softmax_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
