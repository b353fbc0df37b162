#pragma once

#include "kusari/framework/kernels/math.h"

// From the words of core/philox.h to numbers, alike on every device. float uses one word of a place; double two: that
// of the plane, and for its lower digits that of the next plane.
namespace kusari::km {

constexpr u32 kUniformPlane = 0;
constexpr u32 kNormalPlane = 2;

/// Uniform in [0, 1), 24 bits. The conversion is a signed one, which every instruction set has.
KUSARI_HOST_DEVICE float uniform_from(u32 word) { return static_cast<float>(static_cast<i32>(word >> 8)) * 0x1p-24f; }

/// Uniform in (0, 1], 31 bits, for logarithms.
KUSARI_HOST_DEVICE float positive_uniform_from(u32 word) {
  return (static_cast<float>(static_cast<i32>(word >> 1)) + 0.5f) * 0x1p-31f;
}

/// Uniform in [0, 1), 53 bits: 52 as the digits of a number in [1, 2) less 1, and one worth 2^-53. Without converting
/// 64-bit integers, for which instruction sets before AVX512 have no instruction.
KUSARI_HOST_DEVICE double uniform_from(u32 word, u32 more) {
  const u64 digits = (static_cast<u64>(word) << 20) | (more >> 12);
  const u64 last = (u64{0} - ((static_cast<u64>(more) >> 11) & 1u)) & 0x3ca0000000000000u;
  return (bit_cast<double>(digits | 0x3ff0000000000000u) - 1.0) + bit_cast<double>(last);
}
KUSARI_HOST_DEVICE double positive_uniform_from(u32 word, u32 more) { return uniform_from(word, more) + 0x1p-54; }

/// The radius of Box and Muller's pair of normal numbers, from a uniform number in (0, 1].
template <class T>
KUSARI_HOST_DEVICE T normal_radius(T positive_uniform) {
  return sqrt(T(-2) * log(positive_uniform));
}

/// The angle of the pair, from a uniform number in [0, 1): the pair is radius * cos(angle), radius * sin(angle).
template <class T>
KUSARI_HOST_DEVICE T normal_angle(T uniform) {
  return T(6.283185307179586476925) * uniform;
}

}  // namespace kusari::km
