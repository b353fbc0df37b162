#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Rows of n contiguous elements.
template <class T>
struct RowProductLoop {
  /// sum(a b), in a tree that depends on n alone.
  T (*dot)(const T* a, const T* b, i64 n);
  /// y += factor x.
  void (*add)(T factor, const T* x, T* y, i64 n);
};

struct RowProductLoops {
  RowProductLoop<float> f32;
  RowProductLoop<double> f64;
};

KUSARI_DECLARE_LOOPS(RowProductLoops, row_product_loops)

}  // namespace kusari::cpu
