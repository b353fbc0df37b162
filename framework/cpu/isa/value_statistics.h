#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/value_counts.h"

namespace kusari::cpu {

/// Adds what n contiguous values are.
struct ValueStatisticsLoops {
  void (*f32)(const void* x, i64 n, const kernels::ValueRange* range, kernels::ValueCounts* counts);
  void (*f64)(const void* x, i64 n, const kernels::ValueRange* range, kernels::ValueCounts* counts);
};

KUSARI_DECLARE_LOOPS(ValueStatisticsLoops, value_statistics_loops)

}  // namespace kusari::cpu
