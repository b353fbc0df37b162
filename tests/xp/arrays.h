#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/philox.h"
#include "kusari/tests/skip.h"
#include "kusari/tests/test_device.h"

// What the tests of arrays share.
namespace kusari::testing {

inline constexpr Dtype kAllDtypes[] = {Dtype::bool_,   Dtype::uint8,    Dtype::int8,    Dtype::int32,  Dtype::int64,
                                       Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// Integers from low to high, both included, as an array on the test's device; the same for the same arguments.
inline Array integers(const Shape& shape, int64_t low, int64_t high, uint64_t seed = 1, Dtype dtype = Dtype::float64) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(low + static_cast<int64_t>(philox_word(seed, i)) % (high - low + 1));
  }
  return array(values, shape).astype(dtype).to_device(test_device());
}
/// Numbers in [low, high).
inline Array reals(const Shape& shape, double low, double high, uint64_t seed = 1, Dtype dtype = Dtype::float64) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * (philox_word(seed, i) + 0.5) * 0x1p-32;
  return array(values, shape).astype(dtype).to_device(test_device());
}

inline std::vector<double> numbers(const Array& x) { return x.to_vector<double>(); }

/// The same shape and, within the tolerance, the same numbers; NaN equals NaN.
inline void check_equal(const Array& y, const Shape& shape, const std::vector<double>& expected, double tolerance = 0) {
  REQUIRE(y.shape() == shape);
  const std::vector<double> values = numbers(y);
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    if (values[i] == expected[i]) continue;
    CHECK(values[i] == doctest::Approx(expected[i]).epsilon(tolerance).scale(1));
  }
}
template <std::same_as<Array> Expected>
void check_equal(const Array& y, const Expected& expected, double tolerance = 0) {
  check_equal(y, expected.shape(), numbers(expected), tolerance);
}

}  // namespace kusari::testing
