#pragma once

#include "kusari/framework/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kusari::cpu {

/// The best instruction set that this processor and its operating system have.
inline Isa best_isa() {
#if defined(__x86_64__)
  // By features: clang before 18 does not know the levels by their names, nor these three features.
  unsigned a = 0, b = 0, c = 0, d = 0, extended = 0;
  if (__get_cpuid(0x80000001, &a, &b, &extended, &d) == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0) return Isa::v1;
  const bool has_rest = (c & bit_MOVBE) != 0 && (c & bit_F16C) != 0 && (extended & bit_LZCNT) != 0;
  const bool has_v3 = has_rest && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  if (!has_v3) return Isa::v1;
  const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (!has_v4) return Isa::v3;
  constexpr unsigned kAvx512Vnni = 1u << 11, kAvx512Bf16 = 1u << 5;
  const bool has_vnni = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & kAvx512Vnni) != 0;
  if (!has_vnni) return Isa::v4;
  const bool has_bf16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
  return has_bf16 ? Isa::v4_bf16 : Isa::v4_vnni;
#else
  return Isa::v1;
#endif
}

}  // namespace kusari::cpu
