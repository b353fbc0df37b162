#pragma once

#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// Weighted sums of two or three maps, n elements.
struct FusionLoop {
  /// sum = sum_k share[k] x[k].
  void (*weigh)(const void* const* x, int maps, const double* share, void* sum, i64 n);
  /// gx[k] = share[k] g unless gx[k] is null, and sums[k] += sum_i g[i] x[k][i].
  void (*spread)(const void* const* x, int maps, const double* share, const void* g, void* const* gx, double* sums,
                 i64 n);
};

struct FusionLoops {
  FusionLoop f32;
  FusionLoop f64;
};

KUSARI_DECLARE_LOOPS(FusionLoops, fusion_loops)

}  // namespace kusari::cpu
