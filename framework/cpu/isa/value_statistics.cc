#include "kusari/framework/cpu/isa/value_statistics.h"

namespace kusari::cpu {
namespace {

using kernels::ValueClasses;
using kernels::ValueCounts;
using kernels::ValueRange;

// Lane i sums elements i, i + kLanes, ...; then the lanes are added: the same bits for every instruction set.
template <class T>
void count_values(const void* x, i64 n, const ValueRange* range, ValueCounts* counts) {
  constexpr int kLanes = 8;
  const T* const a = static_cast<const T*>(x);
  const ValueClasses<T> classes = ValueClasses<T>::of(*range);
  km::u32 zeros = 0, subnormals = 0, infinities = 0, nans = 0;
  T smallest = km::Real<T>::kInfinity, largest = 0;
#pragma omp simd reduction(+ : zeros, subnormals, infinities, nans) reduction(min : smallest) reduction(max : largest)
  for (i64 i = 0; i < n; ++i) classes.count(a[i], zeros, subnormals, infinities, nans, smallest, largest);
  double lanes[kLanes] = {};
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(classes.finite(a[i + lane]));
  }
  for (int lane = 0; i + lane < n; ++lane) lanes[lane] += static_cast<double>(classes.finite(a[i + lane]));
  const double sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  counts->merge({static_cast<double>(zeros), static_cast<double>(subnormals), static_cast<double>(infinities),
                 static_cast<double>(nans), static_cast<double>(smallest), static_cast<double>(largest), sum,
                 static_cast<double>(n)});
}

constexpr ValueStatisticsLoops kLoops = {&count_values<float>, &count_values<double>};

}  // namespace

namespace KUSARI_ISA {
const ValueStatisticsLoops* value_statistics_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
