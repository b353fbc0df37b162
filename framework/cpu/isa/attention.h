#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Rows of n contiguous numbers. Sums are in a tree that depends on n alone.
template <class T>
struct AttentionLoop {
  /// The largest of scale x, -inf for none; NaNs are passed over.
  T (*largest)(const T* x, T scale, i64 n);
  /// x = exp(scale x - shift); returns the sum.
  T (*exponentials)(T* x, T scale, T shift, i64 n);
  /// y = factor y + x.
  void (*scale_and_add)(T* y, T factor, const T* x, i64 n);
  /// y *= factor.
  void (*scale)(T* y, T factor, i64 n);
  /// p = exp(scale s - shift), and with kept the factors of dropout (or null): s = kept p, g = p (kept g - delta)
  /// scale.
  void (*gradient)(T* s, T* g, const T* kept, T scale, T shift, T delta, i64 n);
  /// x *= y.
  void (*multiply)(T* x, const T* y, i64 n);
};

struct AttentionLoops {
  AttentionLoop<float> f32;
  AttentionLoop<double> f64;
};

KUSARI_DECLARE_LOOPS(AttentionLoops, attention_loops)

}  // namespace kusari::cpu
