#include "kusari/framework/cpu/isa/attention.h"

#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

/// Accumulators side by side, the same number in every instruction set.
constexpr i64 kLanes = 16;

template <class T>
T largest(const T* x, T scale, i64 n) {
  T lane[kLanes];
  for (i64 l = 0; l < kLanes; ++l) lane[l] = -static_cast<T>(__builtin_inf());
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      const T value = scale * x[i + l];
      lane[l] = lane[l] < value ? value : lane[l];
    }
  }
  for (i64 l = 0; i + l < n; ++l) {
    const T value = scale * x[i + l];
    lane[l] = lane[l] < value ? value : lane[l];
  }
  for (i64 half = kLanes / 2; half > 0; half /= 2) {
    for (i64 l = 0; l < half; ++l) lane[l] = lane[l] < lane[l + half] ? lane[l + half] : lane[l];
  }
  return lane[0];
}

template <class T>
T exponentials(T* x, T scale, T shift, i64 n) {
  T lane[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) {
      x[i + l] = km::exp(scale * x[i + l] - shift);
      lane[l] += x[i + l];
    }
  }
  for (i64 l = 0; i + l < n; ++l) {
    x[i + l] = km::exp(scale * x[i + l] - shift);
    lane[l] += x[i + l];
  }
  for (i64 half = kLanes / 2; half > 0; half /= 2) {
    for (i64 l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

template <class T>
void scale_and_add(T* y, T factor, const T* x, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] = factor * y[i] + x[i];
}

template <class T>
void scale(T* y, T factor, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] *= factor;
}

template <class T>
void gradient(T* s, T* g, const T* kept, T scale, T shift, T delta, i64 n) {
  if (kept == nullptr) {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) {
      const T p = km::exp(scale * s[i] - shift);
      s[i] = p;
      g[i] = p * (g[i] - delta) * scale;
    }
    return;
  }
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const T p = km::exp(scale * s[i] - shift);
    s[i] = p * kept[i];
    g[i] = p * (g[i] * kept[i] - delta) * scale;
  }
}

template <class T>
void multiply(T* x, const T* y, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) x[i] *= y[i];
}

template <class T>
constexpr AttentionLoop<T> attention_loop() {
  return {&largest<T>, &exponentials<T>, &scale_and_add<T>, &scale<T>, &gradient<T>, &multiply<T>};
}
constexpr AttentionLoops kLoops = {attention_loop<float>(), attention_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const AttentionLoops* attention_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
