#include "kusari/framework/kernels/sum_rows.h"

#include <limits>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("sum_rows: the tree of the CPU, to the bit") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    if (dtype == Dtype::bool_) continue;
    for (const int64_t count : {1, 2, 3, 6, 8, 13, 64, 1000}) {
      CAPTURE(std::string(name(dtype)));
      CAPTURE(count);
      const Array rows = uniform_array({count, 300}, 0, 100, Dtype::float64, 7).astype(dtype);
      const Array weights = uniform_array({count}, 0, 1, Dtype::float64, 8);
      const auto sum = [&](const Array& x, bool has_weights, double scale) {
        const Array y = empty({x.shape(1)}, dtype, x.device());
        launch<kernels::SumRows>(x.device(), x, has_weights ? weights.to_device(x.device()) : Array(), scale, y);
        return y.to_vector<double>();
      };
      const Array moved = on_device(rows, *device);
      CHECK(sum(moved, false, 1) == sum(rows, false, 1));
      if (!is_floating(dtype)) continue;
      CHECK(sum(moved, true, 1) == sum(rows, true, 1));
      CHECK(sum(moved, false, 0.3) == sum(rows, false, 0.3));
      CHECK(sum(on_device(rows.slice(1, 100, 50), *device), true, 0.3) == sum(rows.slice(1, 100, 50), true, 0.3));
    }
  }
}

TEST_CASE("sum_rows: rows of weight 0 are not read") {
  const auto device = gpu_device();
  if (!device) return;
  const Array rows = array<float>({1, std::numeric_limits<float>::quiet_NaN()}, {2, 1}, *device);
  const Array y = empty({1}, Dtype::float32, *device);
  launch<kernels::SumRows>(*device, rows, array<double>({2, 0}, {2}, *device), 1.0, y);
  CHECK(y.item<float>() == 2);
}

}  // namespace
}  // namespace kusari::testing
