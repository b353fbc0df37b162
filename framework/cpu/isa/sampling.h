#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Pixels are rows of c contiguous channels. Weights and results have the loop's element type.
struct SamplingLoop {
  /// y[i] = (1 - w) a[i] + w b[i].
  void (*blend)(const void* a, const void* b, double w, void* y, i64 n);
  /// y[i] += w x[i].
  void (*add_scaled)(const void* x, double w, void* y, i64 n);
  /// Pixel j of y = (1 - weight[j]) pixel left[j] + weight[j] pixel right[j] of x, for j < n; pixel left[j] itself
  /// where the weight is 0.
  void (*resize_row)(const void* x, const i64* left, const i64* right, const void* weight, void* y, i64 n, i64 c);
  /// The adjoint of resize_row, added to gx, for j = 0, 1, ...
  void (*resize_row_grad)(const void* gy, const i64* left, const i64* right, const void* weight, void* gx, i64 n,
                          i64 c);
  /// y = the sum of w[k] x[k] over four pixels.
  void (*mix)(const void* const* x, const void* w, void* y, i64 c);
  /// dots[k] = the sum of gy[i] x[k][i] over i, for four pixels, in an order that depends on c alone.
  void (*dots)(const void* const* x, const void* gy, void* dots, i64 c);
};

struct SamplingLoops {
  SamplingLoop f32;
  SamplingLoop f64;
};

KUSARI_DECLARE_LOOPS(SamplingLoops, sampling_loops)

}  // namespace kusari::cpu
