#include "kusari/framework/cpu/isa/normalized_fusion.h"

namespace kusari::cpu {
namespace {

/// Sums side by side, the same number in every instruction set.
constexpr i64 kFusionLanes = 16;

template <class T>
void weigh(const void* const* x, int maps, const double* share, void* sum, i64 n) {
  const T *const a = static_cast<const T*>(x[0]), *const b = static_cast<const T*>(x[1]);
  const T p = static_cast<T>(share[0]), q = static_cast<T>(share[1]);
  T* const s = static_cast<T*>(sum);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) s[i] = p * a[i] + q * b[i];
  if (maps == 2) return;
  const T* const c = static_cast<const T*>(x[2]);
  const T r = static_cast<T>(share[2]);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) s[i] += r * c[i];
}

template <class T>
double dot(const T* a, const T* b, i64 n) {
  T lane[kFusionLanes];
  for (i64 l = 0; l < kFusionLanes; ++l) lane[l] = T(0);
  i64 i = 0;
  for (; i + kFusionLanes <= n; i += kFusionLanes) {
#pragma omp simd
    for (i64 l = 0; l < kFusionLanes; ++l) lane[l] += a[i + l] * b[i + l];
  }
  for (i64 l = 0; i + l < n; ++l) lane[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (i64 l = 0; l < kFusionLanes; ++l) sum += static_cast<double>(lane[l]);
  return sum;
}

template <class T>
void spread(const void* const* x, int maps, const double* share, const void* gradient, void* const* gx, double* sums,
            i64 n) {
  const T* const g = static_cast<const T*>(gradient);
  for (int k = 0; k < maps; ++k) {
    sums[k] += dot(g, static_cast<const T*>(x[k]), n);
    if (gx[k] == nullptr) continue;
    T* const to = static_cast<T*>(gx[k]);
    const T factor = static_cast<T>(share[k]);
#pragma omp simd
    for (i64 i = 0; i < n; ++i) to[i] = factor * g[i];
  }
}

constexpr FusionLoops kFusionTable = {{&weigh<float>, &spread<float>}, {&weigh<double>, &spread<double>}};

}  // namespace

namespace KUSARI_ISA {
const FusionLoops* fusion_loops() { return &kFusionTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
