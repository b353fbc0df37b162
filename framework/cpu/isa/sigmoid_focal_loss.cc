#include "kusari/framework/cpu/isa/sigmoid_focal_loss.h"

namespace kusari::cpu {
namespace {

using kernels::FocalElement;
using kernels::FocalOptions;
using kernels::kFocalIgnored;

/// Sums side by side, the same number in every instruction set.
constexpr i64 kLanes = 16;

/// y[i] = background(x[i]) for rows of c classes, but positive(x[i]) at each row's label, and 0 where a row is ignored;
/// NaN where there is no such class. Nearly all elements are of the background, so those of others are written over. y
/// may be x.
template <class T, class Background, class Positive>
__attribute__((always_inline)) inline void for_each_class(const T* x, const km::i32* t, i64 rows, i64 c, T* y,
                                                          const Background& background, const Positive& positive) {
  constexpr i64 kMost = 16;
  for (i64 first = 0; first < rows;) {
    // As many rows as have no more labels than there is place for what becomes of them.
    T kept[kMost];
    i64 end = first, count = 0;
    for (; end < rows; ++end) {
      if (t[end] < 0 || t[end] >= c) continue;
      if (count == kMost) break;
      kept[count++] = positive(x[end * c + t[end]]);
    }
#pragma omp simd
    for (i64 i = first * c; i < end * c; ++i) y[i] = background(x[i]);
    count = 0;
    for (i64 row = first; row < end; ++row) {
      if (t[row] >= 0 && t[row] < c) {
        y[row * c + t[row]] = kept[count++];
      } else if (t[row] == kFocalIgnored) {
        for (i64 j = 0; j < c; ++j) y[row * c + j] = T(0);
      } else if (t[row] >= c && c > 0) {
        y[row * c] = km::Real<T>::kNan;
      }
    }
    first = end;
  }
}

template <class T>
double focal_sum(const FocalOptions* options, const void* in, const km::i32* t, i64 rows, i64 c, void* out) {
  const FocalElement<T> element = FocalElement<T>::of(*options);
  T* const terms = static_cast<T*>(out);
  const T weight = T(1) - element.alpha;
  for_each_class(
      static_cast<const T*>(in), t, rows, c,
      terms, [&](T x) __attribute__((always_inline)) { return weight * element.term.value(x); },
      [&](T x) __attribute__((always_inline)) { return element.value(x, true); });
  T lane[kLanes];
  for (i64 l = 0; l < kLanes; ++l) lane[l] = T(0);
  const i64 n = rows * c;
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (i64 l = 0; l < kLanes; ++l) lane[l] += terms[i + l];
  }
  for (i64 l = 0; i + l < n; ++l) lane[l] += terms[i + l];
  double sum = 0;
  for (i64 l = 0; l < kLanes; ++l) sum += static_cast<double>(lane[l]);
  return sum;
}

template <class T>
void focal_grad(const FocalOptions* options, const void* in, const km::i32* t, double scale, i64 rows, i64 c,
                void* out) {
  const FocalElement<T> element = FocalElement<T>::of(*options);
  const T factor = static_cast<T>(scale), weight = factor * (T(1) - element.alpha);
  for_each_class(
      static_cast<const T*>(in), t, rows, c,
      static_cast<T*>(out), [&](T x) __attribute__((always_inline)) { return weight * element.term.slope(x); },
      [&](T x) __attribute__((always_inline)) { return factor * element.slope(x, true); });
}

template <class T>
constexpr FocalLoop focal_loop() {
  return {&focal_sum<T>, &focal_grad<T>};
}
constexpr FocalLoops kFocalTable = {focal_loop<float>(), focal_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const FocalLoops* focal_loops() { return &kFocalTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
