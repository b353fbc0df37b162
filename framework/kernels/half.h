#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"

// The 16-bit floating types by integer arithmetic: rounding to nearest, to even at a tie; denormals, infinities and NaN
// as IEEE 754 has them.
namespace kusari::km {

using u16 = unsigned short;

KUSARI_HOST_DEVICE float float_from_half(u16 half) {
  const u32 magnitude = (static_cast<u32>(half) & 0x7fffu) << 13, sign = (static_cast<u32>(half) & 0x8000u) << 16;
  const u32 rebased = magnitude + ((127u - 15u) << 23);
  // A denormal's digits behind an implicit 1 that does not belong there: subtracted again, exactly.
  const float small = bit_cast<float>(magnitude + (113u << 23)) - bit_cast<float>(113u << 23);
  u32 bits = magnitude >= (0x7c00u << 13) ? rebased + ((128u - 16u) << 23) : rebased;
  bits = magnitude < (0x0400u << 13) ? bit_cast<u32>(small) : bits;
  return bit_cast<float>(bits | sign);
}

KUSARI_HOST_DEVICE u16 half_from_float(float x) {
  const u32 all = bit_cast<u32>(x), sign = all & 0x80000000u, bits = all ^ sign;
  // Adding a number whose last digit weighs as much as a half's smallest denormal makes the addition round.
  const u32 denormal = bit_cast<u32>(bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
  const u32 normal = (bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  u32 half = bits < (113u << 23) ? denormal : normal;
  half = bits >= (143u << 23) ? 0x7c00u : half;                            // 65536 and more
  half = bits > 0x7f800000u ? (0x7e00u | ((bits >> 13) & 0x3ffu)) : half;  // a quiet NaN
  return static_cast<u16>(half | (sign >> 16));
}

KUSARI_HOST_DEVICE float float_from_bfloat16(u16 brain) { return bit_cast<float>(static_cast<u32>(brain) << 16); }

KUSARI_HOST_DEVICE u16 bfloat16_from_float(float x) {
  const u32 bits = bit_cast<u32>(x);
  const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<u16>((bits & 0x7fffffffu) > 0x7f800000u ? ((bits >> 16) | 0x40u) : rounded);
}

}  // namespace kusari::km
