#include "kusari/framework/core/dtype.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

// The value of a float16 by IEEE 754's formula.
double float16_value(uint16_t bits) {
  const int sign = bits >> 15, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

float16 half(uint16_t bits) {
  float16 h;
  h.bits = bits;
  return h;
}

bfloat16 brain(uint16_t bits) {
  bfloat16 b;
  b.bits = bits;
  return b;
}

TEST_CASE("float16 widens exactly, all 65536 patterns") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float wide = static_cast<float>(half(pattern));
    const int exponent = pattern >> 10 & 31, mantissa = pattern & 1023;
    if (exponent == 31 && mantissa != 0) {
      CHECK(std::isnan(wide));
      CHECK(std::isnan(static_cast<float>(float16(wide))));
      continue;
    }
    const double expected = exponent == 31 ? (pattern >> 15 ? -INFINITY : INFINITY) : float16_value(pattern);
    if (static_cast<double>(wide) != expected || std::signbit(wide) != (pattern >> 15 != 0)) {
      FAIL_CHECK("pattern " << pattern << " widens to " << wide);
    }
    if (float16(wide).bits != pattern) FAIL_CHECK("pattern " << pattern << " does not survive widening");
  }
}

TEST_CASE("float16 rounds to nearest, ties to even, at every boundary") {
  for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
    // Between a value and the next lies the midpoint, exact in float; beyond 65504 the next would be 65536.
    const double low = float16_value(bits);
    const double high = bits == 0x7bff ? 65536.0 : float16_value(static_cast<uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    const auto even = static_cast<uint16_t>(bits + (bits & 1));
    for (uint16_t sign : {uint16_t{0}, uint16_t{0x8000}}) {
      const auto narrow = [&](float magnitude) { return float16(sign != 0 ? -magnitude : magnitude).bits; };
      if (narrow(middle) != (even | sign) || narrow(std::nextafterf(middle, 0)) != (bits | sign) ||
          narrow(std::nextafterf(middle, INFINITY)) != ((bits + 1) | sign)) {
        FAIL_CHECK("wrong rounding above pattern " << bits);
      }
    }
  }
  CHECK(float16(1e30f).bits == 0x7c00);
  CHECK(float16(-INFINITY).bits == 0xfc00);
  CHECK(float16(1e-30f).bits == 0);
  CHECK(float16(-0.0f).bits == 0x8000);
}

TEST_CASE("bfloat16 rounds to nearest, ties to even, at every boundary") {
  for (uint32_t upper = 0; upper < 0x7f80; ++upper) {
    const auto bits = static_cast<uint16_t>(upper);
    if (static_cast<float>(brain(bits)) != std::bit_cast<float>(upper << 16)) FAIL_CHECK("pattern " << upper);
    const uint32_t middle = (upper << 16) + 0x8000u;
    const auto narrow = [](uint32_t pattern) { return bfloat16(std::bit_cast<float>(pattern)).bits; };
    if (narrow(upper << 16) != bits || narrow(middle) != bits + (bits & 1) || narrow(middle - 1) != bits ||
        narrow(middle + 1) != bits + 1 || narrow(0x80000000u | middle) != (0x8000 | (bits + (bits & 1)))) {
      FAIL_CHECK("wrong rounding above pattern " << upper);
    }
  }
  CHECK(bfloat16(INFINITY).bits == 0x7f80);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(std::isnan(static_cast<float>(bfloat16(NAN))));
  // A NaN whose upper payload is zero must not become an infinity.
  CHECK(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(0x7f800001u)))));
  CHECK(std::isnan(static_cast<float>(float16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("half types compare by value") {
  CHECK(half(0) == half(0x8000));
  CHECK_FALSE(float16(NAN) == float16(NAN));
  CHECK(bfloat16(1.5f) == bfloat16(1.5f));
  CHECK_FALSE(float16(1.0f) == float16(1.0009765625f));
}

TEST_CASE("names and sizes are NumPy's") {
  struct Case {
    Dtype dtype;
    const char* name;
    int64_t size;
    bool floating;
  };
  for (const Case& c : {Case{Dtype::bool_, "bool", 1, false},
                        {Dtype::uint8, "uint8", 1, false},
                        {Dtype::int8, "int8", 1, false},
                        {Dtype::int32, "int32", 4, false},
                        {Dtype::int64, "int64", 8, false},
                        {Dtype::float16, "float16", 2, true},
                        {Dtype::bfloat16, "bfloat16", 2, true},
                        {Dtype::float32, "float32", 4, true},
                        {Dtype::float64, "float64", 8, true}}) {
    CAPTURE(c.name);
    CHECK(std::string(name(c.dtype)) == c.name);
    CHECK(dtype_from_name(c.name) == c.dtype);
    CHECK(itemsize(c.dtype) == c.size);
    CHECK(is_floating(c.dtype) == c.floating);
    CHECK(is_integral(c.dtype) == !c.floating);
    CHECK(is_half(c.dtype) == (c.size == 2));
    CHECK(visit_dtype(c.dtype, []<class T>() { return dtype_of<T>; }) == c.dtype);
  }
  CHECK_THROWS_WITH_AS(dtype_from_name("float8"),
                       "dtype_from_name: 'float8' is not a dtype; there are bool, uint8, int8, int32, int64, float16, "
                       "bfloat16, float32, float64",
                       ValueError);
}

TEST_CASE("promotion follows NumPy") {
  const auto check = [](Dtype a, Dtype b, Dtype expected) {
    CHECK(promote(a, b) == expected);
    CHECK(promote(b, a) == expected);
  };
  for (int i = 0; i < kDtypeCount; ++i) check(static_cast<Dtype>(i), static_cast<Dtype>(i), static_cast<Dtype>(i));
  check(Dtype::bool_, Dtype::int8, Dtype::int8);
  check(Dtype::uint8, Dtype::int8, Dtype::int32);
  check(Dtype::uint8, Dtype::int32, Dtype::int32);
  check(Dtype::int32, Dtype::int64, Dtype::int64);
  check(Dtype::int64, Dtype::float16, Dtype::float16);
  check(Dtype::int64, Dtype::float32, Dtype::float32);
  check(Dtype::float16, Dtype::bfloat16, Dtype::float32);
  check(Dtype::bfloat16, Dtype::float32, Dtype::float32);
  check(Dtype::float32, Dtype::float64, Dtype::float64);
}

TEST_CASE("elements convert as casts do") {
  CHECK(convert_element<int32_t>(-2.9) == -2);
  CHECK(convert_element<bool>(0.25f));
  CHECK_FALSE(convert_element<bool>(float16(-0.0f)));
  CHECK(convert_element<bool>(float16(6e-8f)));
  CHECK(convert_element<float>(true) == 1.0f);
  CHECK(convert_element<float16>(2049.0).bits == float16(2048.0f).bits);
  CHECK(convert_element<double>(bfloat16(3.140625f)) == 3.140625);
  CHECK(convert_element<bfloat16>(float16(0.5f)).bits == bfloat16(0.5f).bits);
}

}  // namespace
}  // namespace kusari
