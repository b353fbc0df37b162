#include "kusari/framework/cpu/isa/row_products.h"

namespace kusari::cpu {
namespace {

constexpr i64 kLanes = 16;

// Lane l sums elements l, l + kLanes, ...; then halves of the lanes are added: the same bits for every instruction set.
template <class T>
T dot(const T* a, const T* b, i64 n) {
  T lane[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) lane[l] += a[i + l] * b[i + l];
  }
  for (i64 l = 0; i + l < n; ++l) lane[l] += a[i + l] * b[i + l];
  for (i64 half = kLanes / 2; half > 0; half /= 2) {
    for (i64 l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

template <class T>
void add(T factor, const T* x, T* y, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <class T>
constexpr RowProductLoop<T> row_product_loop() {
  return {&dot<T>, &add<T>};
}
constexpr RowProductLoops kLoops = {row_product_loop<float>(), row_product_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const RowProductLoops* row_product_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
