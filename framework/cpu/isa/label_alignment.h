#pragma once

#include "kusari/framework/cpu/isa/loops.h"

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

}  // namespace kusari::cpu

#define KUSARI_DECLARE_LOOPS(isa)                     \
  namespace kusari::cpu::isa {                        \
  const LabelAlignmentLoops* label_alignment_loops(); \
  }
KUSARI_DECLARE_LOOPS(v1)
KUSARI_DECLARE_LOOPS(v3)
KUSARI_DECLARE_LOOPS(v4)
#undef KUSARI_DECLARE_LOOPS
