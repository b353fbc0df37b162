#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// to[a][b] = from[b][a] for a < rows and b < columns. Along its second index each array is contiguous; along its first
/// one it has that many bytes, positive or not, from one element to the next. The arrays do not overlap.
using TransposeLoop = void (*)(const char* from, i64 from_stride, char* to, i64 to_stride, i64 rows, i64 columns);

/// For elements of 1, 2, 4 and 8 bytes.
struct TransposeLoops {
  TransposeLoop loop[4];
};

KUSARI_DECLARE_LOOPS(TransposeLoops, transpose_loops)

}  // namespace kusari::cpu
