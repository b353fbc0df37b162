#include "kusari/framework/kernels/ordering.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "kusari/framework/xp/indexing.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

Array argsorted(const Array& x) {
  const Array places = empty(x.shape(), Dtype::int64, x.device());
  launch<kernels::ArgsortRows>(x.device(), x, places);
  return places;
}

// Few different values, so that many are equal.
Array with_equals(const Shape& shape, Dtype dtype) {
  return dtype == Dtype::bool_
             ? uniform_array(shape, -1, 1).astype(Dtype::int32).astype(dtype)
             : uniform_array(shape, dtype == Dtype::uint8 ? 0 : -40, 40).astype(Dtype::int32).astype(dtype);
}

TEST_CASE("ordering: places that sort rows are those of the CPU, equal elements in their order") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    CAPTURE(std::string(name(dtype)));
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 7}, Shape{2, 1024}, Shape{3, 1025}, Shape{1, 5000}, Shape{0, 4}}) {
      CAPTURE(to_string(shape));
      check_on_gpu(*device, argsorted, 1, with_equals(shape, dtype));
    }
  }
  check_on_gpu(*device, argsorted, 1, uniform_array({2, 2100}, -1e300, 1e300, Dtype::float64));
}

TEST_CASE("ordering: NaN lies above all numbers, both zeros are one") {
  const auto device = gpu_device();
  if (!device) return;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const Dtype dtype : kFloatingDtypes) {
    const Array x = array<double>({nan, inf, 0.0, -nan, -0.0, -inf, 1, -1}, {1, 8}).astype(dtype);
    CHECK(argsorted(x.to_device(*device)).to_vector<int64_t>() == std::vector<int64_t>{5, 7, 2, 4, 6, 1, 0, 3});
    check_on_gpu(*device, argsorted, 1, x);
  }
}

TEST_CASE("ordering: places in sorted numbers") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    CAPTURE(std::string(name(dtype)));
    std::vector<double> numbers = with_equals({100}, dtype).to_vector<double>();
    std::sort(numbers.begin(), numbers.end());
    if (is_floating(dtype)) numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    const Array sorted = array(numbers, {static_cast<int64_t>(numbers.size())}).astype(dtype);
    Array values = with_equals({30, 20}, dtype);
    for (const bool right : {false, true}) {
      const auto search = [right](const Array& order, const Array& wanted) {
        const Array places = empty(wanted.shape(), Dtype::int64, wanted.device());
        launch<kernels::SearchSorted>(wanted.device(), kernels::InsertionSide{right}, order, wanted, places);
        return places;
      };
      check_on_gpu(*device, search, 1, sorted, values);
      check_on_gpu(*device, search, 1, sorted, sorted);
      check_on_gpu(*device, search, 1, sorted.slice(0, 0, 0), values);
    }
  }
}

TEST_CASE("ordering: of rows put at one place the last stays") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const int64_t columns : {1, 3, 8}) {
      CAPTURE(std::string(name(dtype)));
      CAPTURE(columns);
      const auto put = [&](const Array& x, const Array& index) {
        const Array y = zeros({20, columns}, dtype, x.device());
        launch<kernels::PutRows>(x.device(), x, index, y);
        return y;
      };
      const Array index = uniform_array({50}, 0, 18).astype(Dtype::int64);
      check_on_gpu(*device, put, 1, with_equals({50, columns}, dtype), index);
      check_on_gpu(*device, put, 1, with_equals({0, columns}, dtype), index.slice(0, 0, 0));
    }
  }
}

TEST_CASE("ordering: nothing is written for an index out of range") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = zeros({4}, Dtype::float32, *device);
  xp::put(x, array<int64_t>({1, 7, -9, -1}, {4}, *device), array<float>({5, 6, 7, 8}, {4}, *device));
  CHECK(x.to_vector<float>() == std::vector<float>{0, 5, 0, 8});
}

}  // namespace
}  // namespace kusari::testing
