#include "kusari/framework/core/dtype.h"

#include <bit>
#include <ostream>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

constexpr const char* kNames[kDtypeCount] = {"bool",    "uint8",    "int8",    "int32",  "int64",
                                             "float16", "bfloat16", "float32", "float64"};

}  // namespace

float16::float16(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (f >> 16) & 0x8000u;
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN: keep the upper payload bits, stay quiet
    bits = static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65520 or more: infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal or zero: adding 0.5 leaves the rounded bits in the low mantissa
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {  // round to nearest, ties to even
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t biased = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (biased << 23) | (mantissa << 13));
}

bfloat16::bfloat16(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((f >> 16) | 0x40u);
  } else {
    bits = static_cast<uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
}

bfloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

const char* name(Dtype dtype) { return kNames[static_cast<int>(dtype)]; }

std::ostream& operator<<(std::ostream& stream, Dtype dtype) { return stream << name(dtype); }

Dtype dtype_from_name(const std::string& name) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (name == kNames[i]) return static_cast<Dtype>(i);
  }
  std::string known;
  for (const char* n : kNames) known += std::string(known.empty() ? "" : ", ") + n;
  throw ValueError("dtype_from_name: '" + name + "' is not a dtype; there are " + known);
}

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a > b) return promote(b, a);                                 // from here on a < b in the order of the enumeration
  if (a == Dtype::uint8 && b == Dtype::int8) return Dtype::int32;  // NumPy says int16, which is not among the dtypes
  if (a == Dtype::float16 && b == Dtype::bfloat16) return Dtype::float32;
  return b;
}

}  // namespace kusari
