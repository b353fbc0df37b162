#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Units that are computed together.
constexpr i64 kUnits = 16;

/// Columns of a packed matrix: `width` units, a multiple of kUnits, for each gate.
struct GatePanel {
  const void* w;
  i64 gate_step, unit_step, depth_step;  // in elements, of which unit_step or depth_step is 1
  i64 gates, width, depth;
  i64 units;  // that there are; the columns of others become zero
};

/// Rows of one time, units [0, units) of a panel; every pointer is at the first row and unit.
struct CellRows {
  i64 rows, units, hidden;
  const void* product;  // h W: kUnits to a gate, product_row to a row
  i64 product_row, product_gate;
  const void *x, *b;          // rows of G hidden; b of one
  const void* h;              // before
  void *y, *last_h, *last_c;  // rows of hidden; last_c is read and written
  void *saved, *cells;        // null if not wanted
  void* next;                 // `before` of the next time, for its first next_rows rows
  i64 next_rows;
};

/// The same backward.
struct CellGradientRows {
  i64 rows, units, hidden;
  const void* product;  // gu W of the time after, or null; to its first product_rows rows
  i64 product_row, product_rows;
  const void* gy;  // null for none
  const void *y, *saved, *cells, *before;
  const void *last_cells, *first_cells;  // c before: the row of the time before, of its last_rows rows, or the first
  i64 last_rows;
  void *gx, *gu;  // rows of G hidden; gu null where it is gx
  void *gh, *gc;  // of the state: read and written
};

/// Indexed by kernels::RecurrentCell.
struct RecurrentCells {
  void (*forward[4])(const CellRows& rows);
  void (*backward[4])(const CellGradientRows& rows);
};

struct RecurrentLoop {
  i64 itemsize;
  /// to: panel.depth * panel.gates * panel.width elements.
  void (*pack)(const GatePanel& panel, void* to);
  /// out (rows, columns) = a (rows, depth) packed, with the columns of one panel.
  void (*multiply)(const void* a, i64 a_row, i64 rows, i64 depth, const void* packed, i64 columns, void* out);
  RecurrentCells cells;
};

struct RecurrentLoops {
  RecurrentLoop f32;
  RecurrentLoop f64;
};

KUSARI_DECLARE_LOOPS(RecurrentLoops, recurrent_loops)

namespace v4_bf16 {
/// Products, biases and the states h, last_h, last_c, next, gh and gc are float32, all else bfloat16: for layers whose
/// products need AVX512_BF16.
const RecurrentCells* bfloat16_recurrent_cells();
}  // namespace v4_bf16

}  // namespace kusari::cpu
