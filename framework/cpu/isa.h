#pragma once

#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {

/// The instruction sets that framework/cpu/isa is compiled for: x86-64 and its levels 3 (AVX2) and 4 (AVX512); for the
/// sources vnni_* level 4 with AVX512_VNNI, and for bfloat16_* with AVX512_BF16 as well; for scalar_* the first two.
/// Other processors have v1 alone.
enum class Isa { v1, v3, v4, v4_vnni, v4_bf16 };

/// The best one that this processor has, capped by $KUSARI_CPU_ISA (v1, v3, v4, v4_vnni or v4_bf16). A library that was
/// built for one instruction set (KUSARI_NATIVE) has that.
Isa isa();

/// Whether products of bfloat16 numbers are summed in float32 in one instruction.
inline bool has_bfloat16_dot() { return isa() >= Isa::v4_bf16; }
/// Whether products of four 8-bit numbers are summed in 32 bits in one instruction.
inline bool has_vnni() { return isa() >= Isa::v4_vnni; }

/// The variant of a table that suits `isa`.
#if defined(KUSARI_ONLY_ISA)
#define KUSARI_LOOPS(isa, table) (static_cast<void>(isa), ::kusari::cpu::KUSARI_ONLY_ISA::table())
#elif defined(KUSARI_ISA_X86)
#define KUSARI_LOOPS(isa, table)                                  \
  ((isa) >= ::kusari::cpu::Isa::v4   ? ::kusari::cpu::v4::table() \
   : (isa) == ::kusari::cpu::Isa::v3 ? ::kusari::cpu::v3::table() \
                                     : ::kusari::cpu::v1::table())
#else
#define KUSARI_LOOPS(isa, table) (static_cast<void>(isa), ::kusari::cpu::v1::table())
#endif

/// A table of the sources scalar_*: on x86-64 they are compiled for two instruction sets.
#if defined(KUSARI_ISA_X86) && !defined(KUSARI_ONLY_ISA)
#define KUSARI_SCALAR_LOOPS(table) (isa() >= Isa::v3 ? v3::table() : v1::table())
#else
#define KUSARI_SCALAR_LOOPS(table) KUSARI_LOOPS(isa(), table)
#endif

/// A table of the sources bfloat16_* or vnni_*, null without has_bfloat16_dot() or has_vnni().
#if defined(KUSARI_ISA_X86)
#define KUSARI_BFLOAT16_LOOPS(table) (::kusari::cpu::has_bfloat16_dot() ? ::kusari::cpu::v4_bf16::table() : nullptr)
#define KUSARI_VNNI_LOOPS(table) (::kusari::cpu::has_vnni() ? ::kusari::cpu::v4_vnni::table() : nullptr)
#else
#define KUSARI_BFLOAT16_LOOPS(table) (decltype(::kusari::cpu::v4_bf16::table()){nullptr})
#define KUSARI_VNNI_LOOPS(table) (decltype(::kusari::cpu::v4_vnni::table()){nullptr})
#endif

}  // namespace kusari::cpu
