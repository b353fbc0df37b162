#pragma once

#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// to[a][b] = from[b][a] for a < rows and b < columns. Along its second index each array is contiguous; along its first
/// one it has that many bytes, positive or not, from one element to the next. The arrays do not overlap.
using TransposeLoop = void (*)(const char* from, i64 from_stride, char* to, i64 to_stride, i64 rows, i64 columns);

/// For elements of 1, 2, 4 and 8 bytes.
struct TransposeLoops {
  TransposeLoop loop[4];
};

}  // namespace kusari::cpu

#define KUSARI_DECLARE_LOOPS(isa)          \
  namespace kusari::cpu::isa {             \
  const TransposeLoops* transpose_loops(); \
  }
KUSARI_DECLARE_LOOPS(v1)
KUSARI_DECLARE_LOOPS(v3)
KUSARI_DECLARE_LOOPS(v4)
#undef KUSARI_DECLARE_LOOPS
