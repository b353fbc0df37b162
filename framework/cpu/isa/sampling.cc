#include "kusari/framework/cpu/isa/sampling.h"

namespace kusari::cpu {
namespace {

constexpr i64 kCorners = 4;

template <class T>
void blend(const void* a, const void* b, double w, void* y, i64 n) {
  const T *from_a = static_cast<const T*>(a), *from_b = static_cast<const T*>(b);
  T* const to = static_cast<T*>(y);
  const T weight_b = static_cast<T>(w), weight_a = T(1) - weight_b;
#pragma omp simd
  for (i64 i = 0; i < n; ++i) to[i] = weight_a * from_a[i] + weight_b * from_b[i];
}

template <class T>
void add_scaled(const void* x, double w, void* y, i64 n) {
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(y);
  const T weight = static_cast<T>(w);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) to[i] += weight * from[i];
}

// Few channels are a number that the compiler knows: kC, 0 for any.
template <i64 kC, class T>
void resize_pixels(const T* x, const i64* left, const i64* right, const T* weight, T* y, i64 n, i64 any) {
  const i64 c = kC > 0 ? kC : any;
  for (i64 j = 0; j < n; ++j) {
    const T *a = x + left[j] * c, *b = x + right[j] * c;
    T* const to = y + j * c;
    const T weight_b = weight[j], weight_a = T(1) - weight_b;
    if (weight_b == T(0)) {
#pragma omp simd
      for (i64 i = 0; i < c; ++i) to[i] = a[i];
    } else {
#pragma omp simd
      for (i64 i = 0; i < c; ++i) to[i] = weight_a * a[i] + weight_b * b[i];
    }
  }
}

template <class T>
void resize_row(const void* x, const i64* left, const i64* right, const void* weight, void* y, i64 n, i64 c) {
  const T *from = static_cast<const T*>(x), *w = static_cast<const T*>(weight);
  T* const to = static_cast<T*>(y);
  switch (c) {
    case 1:
      return resize_pixels<1>(from, left, right, w, to, n, c);
    case 3:
      return resize_pixels<3>(from, left, right, w, to, n, c);
    default:
      return resize_pixels<0>(from, left, right, w, to, n, c);
  }
}

template <class T>
void resize_row_grad(const void* gy, const i64* left, const i64* right, const void* weight, void* gx, i64 n, i64 c) {
  const T *from = static_cast<const T*>(gy), *w = static_cast<const T*>(weight);
  T* const to = static_cast<T*>(gx);
  for (i64 j = 0; j < n; ++j) {
    const T* const g = from + j * c;
    T *const a = to + left[j] * c, *const b = to + right[j] * c;
    const T weight_b = w[j], weight_a = T(1) - weight_b;
#pragma omp simd
    for (i64 i = 0; i < c; ++i) a[i] += weight_a * g[i];
    if (weight_b == T(0)) continue;
#pragma omp simd
    for (i64 i = 0; i < c; ++i) b[i] += weight_b * g[i];
  }
}

template <class T>
void mix(const void* const* x, const void* w, void* y, i64 c) {
  const T *a = static_cast<const T*>(x[0]), *b = static_cast<const T*>(x[1]), *d = static_cast<const T*>(x[2]),
          *e = static_cast<const T*>(x[3]);
  const T* const weight = static_cast<const T*>(w);
  const T wa = weight[0], wb = weight[1], wd = weight[2], we = weight[3];
  T* const to = static_cast<T*>(y);
#pragma omp simd
  for (i64 i = 0; i < c; ++i) to[i] = (wa * a[i] + wb * b[i]) + (wd * d[i] + we * e[i]);
}

// Lane l sums elements l, l + 8, ...; the lanes are added in pairs: the same bits for every instruction set.
template <class T>
T dot(const T* a, const T* b, i64 n) {
  constexpr i64 kLanes = 8;
  T lanes[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  for (; i < n; ++i) lanes[i % kLanes] += a[i] * b[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

template <class T>
void dots(const void* const* x, const void* gy, void* result, i64 c) {
  for (i64 k = 0; k < kCorners; ++k) {
    static_cast<T*>(result)[k] = dot(static_cast<const T*>(x[k]), static_cast<const T*>(gy), c);
  }
}

template <class T>
constexpr SamplingLoop sampling_loop() {
  return {&blend<T>, &add_scaled<T>, &resize_row<T>, &resize_row_grad<T>, &mix<T>, &dots<T>};
}
constexpr SamplingLoops kTable = {sampling_loop<float>(), sampling_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const SamplingLoops* sampling_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
