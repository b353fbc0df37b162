#include "kusari/framework/kernels/value_statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

using kernels::ValueCounting;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Device> devices() {
  std::vector<Device> result = {Device()};
  if (const auto device = gpu_device()) result.push_back(*device);
  return result;
}

Array fresh_counts(int64_t n, const Device& device) {
  const Array counts = zeros({n, 8}, Dtype::float64, device);
  counts.slice(1, 4, 1).fill(kInf);
  return counts;
}

std::vector<double> count(const std::vector<Array>& x, const Device& device, const ValueCounting& counting = {}) {
  const Array counts = fresh_counts(static_cast<int64_t>(x.size()), device);
  launch<kernels::ValueStatistics>(device, InList(x), counting, counts);
  return counts.to_vector<double>();
}

TEST_CASE("value statistics: what each value is, on every device") {
  struct FloatingDtype {
    Dtype dtype;
    double tiny, normal, huge;  // the smallest subnormal and normal numbers, the largest finite one
  };
  const FloatingDtype cases[] = {{Dtype::float16, 0x1p-24, 0x1p-14, 65504},
                                 {Dtype::bfloat16, 0x1p-133, 0x1p-126, 0x1.fep127},
                                 {Dtype::float32, 0x1p-149, 0x1p-126, 0x1.fffffep127},
                                 {Dtype::float64, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023}};
  for (const Device& device : devices()) {
    for (const FloatingDtype& c : cases) {
      CAPTURE(device.name());
      CAPTURE(name(c.dtype));
      const std::vector<double> values = {0,    -0.0,  c.tiny,       -c.tiny, c.normal, -1,
                                          kInf, -kInf, std::nan(""), 2,       -c.tiny};
      const Array x = array(values).astype(c.dtype).to_device(device);
      CHECK(count({x}, device) == std::vector<double>{2, 3, 2, 1, c.tiny, 2, c.normal + 3 + 3 * c.tiny, 11});
      const Array wide = array<double>({c.huge, c.normal}).astype(c.dtype).to_device(device);
      CHECK(count({wide}, device) == std::vector<double>{0, 0, 0, 0, c.normal, c.huge, c.huge + c.normal, 2});
      const Array below = array<double>({c.normal - c.tiny}).astype(c.dtype).to_device(device);
      CHECK(count({below}, device)[1] == 1);
    }
  }
}

TEST_CASE("value statistics: in the range of another dtype") {
  for (const Device& device : devices()) {
    CAPTURE(device.name());
    const std::vector<double> values = {0x1p-25, 0x1.000002p-25, 0x1.fffffep-15, 0x1p-14, 65519.996, 65520};
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const Array x = array(values).astype(dtype).to_device(device);
      const std::vector<double> counts = count({x}, device, {false, Dtype::float16});
      CHECK(std::vector<double>(counts.begin(), counts.begin() + 5) == std::vector<double>{1, 2, 1, 0, 0x1p-25});
      CHECK(counts[5] == x.to_vector<double>()[4]);
      // The rule agrees with the conversion.
      double zeros = 0, infinite = 0;
      for (const double value : x.astype(Dtype::float16).to_vector<double>()) {
        zeros += value == 0;
        infinite += std::isinf(value);
      }
      CHECK(zeros == counts[0]);
      CHECK(infinite == counts[2]);
    }
    for (const Dtype dtype : {Dtype::bfloat16, Dtype::float32}) {
      const double edge = kernels::value_range(dtype).zero, end = kernels::value_range(dtype).infinite;
      const Array x = array<double>({edge, edge * 1.01, end, std::nextafter(end, 0)});
      CHECK(count({x.to_device(device)}, device, {false, dtype})[0] == 1);
      const std::vector<double> rounded = x.astype(Dtype::float32).astype(dtype).to_vector<double>();
      CHECK(rounded[0] == 0);
      CHECK(rounded[1] > 0);
      CHECK(std::isinf(rounded[2]));
    }
  }
}

// Sizes: none, one, ends off the packs, several chunks, and views that are not aligned for packs.
std::vector<Array> tensors(Dtype dtype, const Device& device, uint64_t seed) {
  std::vector<Array> result;
  for (const auto& [size, first] : {std::pair<int64_t, int64_t>{1, 0},
                                    {0, 0},
                                    {7, 0},
                                    {60, 0},
                                    {16384, 0},
                                    {33001, 1},
                                    {40, 3},
                                    {64, 8},
                                    {100000, 0}}) {
    const Array x = uniform_array({first + size}, -1, 1, Dtype::float64, seed++);
    const Array cubed = array([&] {
      std::vector<double> values = x.to_vector<double>();
      for (double& value : values) value = std::abs(value) < 0.1 ? 0 : std::pow(value, 40) * 1e5;
      return values;
    }());
    result.push_back(cubed.astype(dtype).to_device(device).slice(0, first, size));
  }
  return result;
}

void check_counts(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (i % 8 == 6) {
      CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-12));  // sums in another order
    } else {
      CHECK(got[i] == expected[i]);
    }
  }
}

TEST_CASE("value statistics: a GPU's are the CPU's") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const bool own : {true, false}) {
      const ValueCounting counting{own, Dtype::float16};
      const std::vector<double> got = count(tensors(dtype, *device, 1), *device, counting);
      check_counts(got, count(tensors(dtype, Device(), 1), Device(), counting));
      CHECK(got == count(tensors(dtype, *device, 1), *device, counting));
      CHECK(got[8 * 5] > 0);
    }
  }
  // More tensors than a launch takes, of several dtypes, between which the rows are in the list's order.
  const auto many = [](const Device& where) {
    std::vector<Array> result;
    for (uint64_t i = 0; i < 40; ++i) {
      for (const Array& x : tensors(kFloatingDtypes[i % 3], where, 100 * i)) result.push_back(x);
    }
    return result;
  };
  check_counts(count(many(*device), *device), count(many(Device()), Device()));
}

TEST_CASE("value statistics: calls add up") {
  for (const Device& device : devices()) {
    CAPTURE(device.name());
    const Array counts = fresh_counts(1, device);
    for (const double value : {0.0, 4.0, 0.5, kInf}) {
      const Array x = full({3}, value, Dtype::float32, device);
      launch<kernels::ValueStatistics>(device, InList({&x, 1}), ValueCounting(), counts);
    }
    CHECK(counts.to_vector<double>() == std::vector<double>{3, 0, 3, 0, 0.5, 4, 13.5, 12});
    const Array none = fresh_counts(1, device), empty_tensor = empty({0}, Dtype::float16, device);
    launch<kernels::ValueStatistics>(device, InList({&empty_tensor, 1}), ValueCounting(), none);
    CHECK(none.to_vector<double>() == std::vector<double>{0, 0, 0, 0, kInf, 0, 0, 0});
    launch<kernels::ValueStatistics>(device, InList({}), ValueCounting(), none);
    const Array integers = ones({2}, Dtype::int32, device);
    CHECK_THROWS_WITH_AS(launch<kernels::ValueStatistics>(device, InList({&integers, 1}), ValueCounting(), none),
                         "value_statistics: the tensors have dtype int32: it must be floating", TypeError);
  }
}

}  // namespace
}  // namespace kusari::testing
