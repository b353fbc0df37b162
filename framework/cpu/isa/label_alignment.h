#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Recurrences over the states of an alignment, in logarithms; n states.
struct LabelAlignmentLoops {
  /// One frame: before = log(exp(stay) + exp(move) + exp(skip + may_skip)), after = before + emission. -inf stands for
  /// what is impossible.
  void (*step)(const double* stay, const double* move, const double* skip, const double* may_skip,
               const double* emission, double* before, double* after, i64 n);
  /// p = exp(forward + backward - total), total being finite.
  void (*posterior)(const double* forward, const double* backward, double total, double* p, i64 n);
};

KUSARI_DECLARE_LOOPS(LabelAlignmentLoops, label_alignment_loops)

}  // namespace kusari::cpu
