#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// Element types of an Array.
enum class Dtype : uint8_t { bool_, uint8, int8, int32, int64, float16, bfloat16, float32, float64 };
inline constexpr int kDtypeCount = 9;

/// IEEE binary16: a storage type. Arithmetic is done in float.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  KUSARI_API explicit float16(float value);
  KUSARI_API explicit operator float() const;
  friend bool operator==(float16 a, float16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

/// The upper half of a float: a storage type. Arithmetic is done in float.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  KUSARI_API explicit bfloat16(float value);
  KUSARI_API explicit operator float() const;
  friend bool operator==(bfloat16 a, bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

namespace detail {
inline constexpr uint8_t kItemSizes[kDtypeCount] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
}

/// Size of one element in bytes.
constexpr int64_t itemsize(Dtype dtype) { return detail::kItemSizes[static_cast<int>(dtype)]; }
constexpr bool is_floating(Dtype dtype) { return dtype >= Dtype::float16; }
/// Integers and bool.
constexpr bool is_integral(Dtype dtype) { return dtype < Dtype::float16; }
/// float16 and bfloat16: stored in 16 bits, computed in float.
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }

/// NumPy's name of the dtype ("float32", "bool", ...). Source: numpy.dtype.name, ml_dtypes for bfloat16.
KUSARI_API const char* name(Dtype dtype);
inline std::string to_string(Dtype dtype) { return name(dtype); }
KUSARI_API std::ostream& operator<<(std::ostream& stream, Dtype dtype);
/// The dtype of that name; throws ValueError listing the names that exist.
KUSARI_API Dtype dtype_from_name(const std::string& name);
/// The dtype of a binary operation, by NumPy's rules (bool < integers < floats; float16 with bfloat16 gives float32;
/// an integer with a float gives the float).
KUSARI_API Dtype promote(Dtype a, Dtype b);

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<bool> {
  static constexpr Dtype value = Dtype::bool_;
};
template <>
struct DtypeOf<uint8_t> {
  static constexpr Dtype value = Dtype::uint8;
};
template <>
struct DtypeOf<int8_t> {
  static constexpr Dtype value = Dtype::int8;
};
template <>
struct DtypeOf<int32_t> {
  static constexpr Dtype value = Dtype::int32;
};
template <>
struct DtypeOf<int64_t> {
  static constexpr Dtype value = Dtype::int64;
};
template <>
struct DtypeOf<float16> {
  static constexpr Dtype value = Dtype::float16;
};
template <>
struct DtypeOf<bfloat16> {
  static constexpr Dtype value = Dtype::bfloat16;
};
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::float32;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::float64;
};
/// The Dtype of a C++ element type.
template <class T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`.
template <class F>
decltype(auto) visit_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::bool_:
      return f.template operator()<bool>();
    case Dtype::uint8:
      return f.template operator()<uint8_t>();
    case Dtype::int8:
      return f.template operator()<int8_t>();
    case Dtype::int32:
      return f.template operator()<int32_t>();
    case Dtype::int64:
      return f.template operator()<int64_t>();
    case Dtype::float16:
      return f.template operator()<float16>();
    case Dtype::bfloat16:
      return f.template operator()<bfloat16>();
    case Dtype::float32:
      return f.template operator()<float>();
    case Dtype::float64:
      break;
  }
  return f.template operator()<double>();
}

/// Converts between element types: halves go through float, anything to bool is "is not zero".
template <class To, class From>
To convert_element(From value) {
  if constexpr (DtypeOf<From>::value == Dtype::float16 || DtypeOf<From>::value == Dtype::bfloat16) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (DtypeOf<To>::value == Dtype::float16 || DtypeOf<To>::value == Dtype::bfloat16) {
    return To(static_cast<float>(value));
  } else if constexpr (DtypeOf<To>::value == Dtype::bool_) {
    return value != From{};
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace kusari
