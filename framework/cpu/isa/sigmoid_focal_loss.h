#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/kernels/focal_terms.h"

namespace kusari::cpu {

/// Rows of c classes, one for each of the labels t.
struct FocalLoop {
  /// terms[i] = the loss of x[i], for n rows; returns their sum. terms may be x.
  double (*sum)(const kernels::FocalOptions* options, const void* x, const km::i32* t, i64 rows, i64 c, void* terms);
  /// gx[i] = factor times the derivative. gx may be x.
  void (*grad)(const kernels::FocalOptions* options, const void* x, const km::i32* t, double factor, i64 rows, i64 c,
               void* gx);
};

struct FocalLoops {
  FocalLoop f32;
  FocalLoop f64;
};

KUSARI_DECLARE_LOOPS(FocalLoops, focal_loops)

}  // namespace kusari::cpu
