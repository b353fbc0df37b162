#include "kusari/framework/kernels/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace km = kusari::km;

namespace {

/// The value of a binary16 pattern by its definition (IEEE 754, 3.4).
double value_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, digits = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return digits != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25));
}

}  // namespace

TEST_CASE("half: every pattern has its value and comes back") {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double value = value_of_half(bits);
    const float got = km::float_from_half(bits);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(got));
      REQUIRE((km::half_from_float(got) & 0x7c00) == 0x7c00);
      REQUIRE((km::half_from_float(got) & 0x03ff) != 0);
    } else {
      REQUIRE(got == value);
      REQUIRE(std::signbit(got) == std::signbit(value));
      REQUIRE(km::half_from_float(got) == bits);
    }
  }
}

TEST_CASE("half: rounds to nearest, to even at a tie") {
  for (int i = 0; i < 0x7bff; ++i) {  // all neighbours from 0 to the largest finite value
    const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    const float middle = static_cast<float>((value_of_half(low) + value_of_half(high)) / 2);  // exact
    REQUIRE(km::half_from_float(middle) == ((i & 1) == 0 ? low : high));
    REQUIRE(km::half_from_float(std::nextafter(middle, 0.0f)) == low);
    REQUIRE(km::half_from_float(std::nextafter(middle, 1e9f)) == high);
    REQUIRE(km::half_from_float(-middle) == (0x8000 | ((i & 1) == 0 ? low : high)));
  }
  CHECK(km::half_from_float(65519.0f) == 0x7bff);
  CHECK(km::half_from_float(65520.0f) == 0x7c00);  // half way to 65536: to even, which is infinity
  CHECK(km::half_from_float(std::numeric_limits<float>::infinity()) == 0x7c00);
  CHECK(km::half_from_float(-std::numeric_limits<float>::max()) == 0xfc00);
  CHECK(km::half_from_float(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("bfloat16: the upper half of a float, rounded to nearest even") {
  CHECK(km::float_from_bfloat16(0x3f80) == 1.0f);
  CHECK(km::float_from_bfloat16(0xc049) == -3.140625f);
  CHECK(km::bfloat16_from_float(1.0f) == 0x3f80);
  CHECK(km::bfloat16_from_float(1.00390625f) == 0x3f80);  // 1 + 2^-8, a tie
  CHECK(km::bfloat16_from_float(1.01171875f) == 0x3f82);  // 1 + 3 * 2^-8, a tie
  CHECK(km::bfloat16_from_float(1.004f) == 0x3f81);
  CHECK(km::bfloat16_from_float(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(km::bfloat16_from_float(-std::numeric_limits<float>::infinity()) == 0xff80);
  const uint16_t nan = km::bfloat16_from_float(std::numeric_limits<float>::quiet_NaN());
  CHECK(std::isnan(km::float_from_bfloat16(nan)));
  CHECK(std::isnan(km::float_from_bfloat16(km::bfloat16_from_float(km::bit_cast<float>(0x7f800001u)))));
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = km::float_from_bfloat16(bits);
    if (!std::isnan(value)) REQUIRE(km::bfloat16_from_float(value) == bits);
  }
}
