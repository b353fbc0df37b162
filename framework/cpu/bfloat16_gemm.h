#pragma once

#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/bfloat16_gemm.h"

namespace kusari::cpu {

/// Where has_bfloat16_dot().
inline const Bfloat16GemmLoops& bfloat16_gemm() {
  static const Bfloat16GemmLoops& chosen = *KUSARI_BFLOAT16_LOOPS(bfloat16_gemm_loops);
  return chosen;
}

}  // namespace kusari::cpu
