#pragma once

#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// The instruction sets that framework/cpu/isa is compiled for: x86-64 and its levels 3 (AVX2) and 4 (AVX512). Other
/// processors have v1 alone.
enum class Isa { v1, v3, v4 };

/// The best one that this processor has, capped by $KUSARI_CPU_ISA (v1, v3 or v4).
Isa isa();

/// The variant of a table that suits `isa`.
#if defined(KUSARI_ISA_X86)
#define KUSARI_LOOPS(isa, table)                                  \
  ((isa) == ::kusari::cpu::Isa::v4   ? ::kusari::cpu::v4::table() \
   : (isa) == ::kusari::cpu::Isa::v3 ? ::kusari::cpu::v3::table() \
                                     : ::kusari::cpu::v1::table())
#else
#define KUSARI_LOOPS(isa, table) (static_cast<void>(isa), ::kusari::cpu::v1::table())
#endif

}  // namespace kusari::cpu
