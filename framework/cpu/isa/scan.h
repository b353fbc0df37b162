#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Places of the elements of several lines: element i of line k is at i * step + k * gap, in elements, either of which
/// may be negative.
struct ScanLines {
  i64 length;
  i64 step;
  i64 lines;
  i64 gap;
};

struct ScanLoop {
  /// y[0] = x[0], y[i] = y[i-1] + x[i] in each line.
  void (*sum)(const void* x, void* y, const ScanLines& at);
  /// The same with a product.
  void (*product)(const void* x, void* y, const ScanLines& at);
  /// y[j] = first + y[j] for n contiguous elements.
  void (*add_to)(const void* first, void* y, i64 n);
  /// y[0] = b[0], y[i] = a[i-1] y[i-1] + b[i]; the lines of a are a_gap apart.
  void (*recurrence)(const void* a, i64 a_gap, const void* b, void* y, const ScanLines& at);
};

struct ScanLoops {
  ScanLoop f32;
  ScanLoop f64;
  ScanLoop i64;
};

KUSARI_DECLARE_LOOPS(ScanLoops, scan_loops)

}  // namespace kusari::cpu
