#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/value_counts.h"

namespace kusari::cpu {

/// Adds what n contiguous values are.
struct ValueStatisticsLoops {
  void (*f32)(const void* x, i64 n, const kernels::ValueRange* range, kernels::ValueCounts* counts);
  void (*f64)(const void* x, i64 n, const kernels::ValueRange* range, kernels::ValueCounts* counts);
};

}  // namespace kusari::cpu

#define KUSARI_DECLARE_LOOPS(isa)                       \
  namespace kusari::cpu::isa {                          \
  const ValueStatisticsLoops* value_statistics_loops(); \
  }
KUSARI_DECLARE_LOOPS(v1)
KUSARI_DECLARE_LOOPS(v3)
KUSARI_DECLARE_LOOPS(v4)
#undef KUSARI_DECLARE_LOOPS
