#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// op(read[i] * read_rate, arrays[0][i], arrays[1][i], ...) for contiguous elements; `numbers` are the functor's
/// members.
using StepLoop = void (*)(const double* numbers, const void* read, double read_rate, void* const* arrays, i64 n);

struct StepLoops {
  StepLoop f32;
  StepLoop f64;
  i64 arrays;
};

/// The sum of squares of n contiguous elements, in float64 and in an order that depends on n alone.
struct SquareSumLoops {
  double (*f32)(const void* x, i64 n);
  double (*f64)(const void* x, i64 n);
};

KUSARI_DECLARE_LOOPS(StepLoops, step_loops)
KUSARI_DECLARE_LOOPS(SquareSumLoops, square_sum_loops)

}  // namespace kusari::cpu
