#pragma once

#include <cstdint>
#include <cstring>

#include "kusari/framework/kernels/half.h"

namespace kusari::cuda::emulated {

/// How the vendor's libraries store numbers.
enum class Element { half, bfloat16, single, real };

inline int64_t element_bytes(Element element) {
  return element == Element::real ? 8 : element == Element::single ? 4 : 2;
}

/// What a tensor core reads of a float32 operand: 10 digits of the mantissa, rounded to nearest, away from zero at a
/// tie (PTX: cvt.rna.tf32.f32).
inline float tf32_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Element `index` of an array, widened to T (float or double).
template <class T>
T load_element(const void* data, int64_t index, Element element) {
  const char* const at = static_cast<const char*>(data) + index * element_bytes(element);
  if (element == Element::real) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<T>(value);
  }
  if (element == Element::single) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<T>(value);
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return static_cast<T>(element == Element::half ? km::float_from_half(bits) : km::float_from_bfloat16(bits));
}

template <class T>
void store_element(void* data, int64_t index, Element element, T value) {
  char* const at = static_cast<char*>(data) + index * element_bytes(element);
  if (element == Element::real) {
    const double real = static_cast<double>(value);
    std::memcpy(at, &real, sizeof(real));
  } else if (element == Element::single) {
    const float single = static_cast<float>(value);
    std::memcpy(at, &single, sizeof(single));
  } else {
    const float single = static_cast<float>(value);
    const uint16_t bits = element == Element::half ? km::half_from_float(single) : km::bfloat16_from_float(single);
    std::memcpy(at, &bits, sizeof(bits));
  }
}

}  // namespace kusari::cuda::emulated
