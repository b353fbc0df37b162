#include "kusari/framework/kernels/scan.h"

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

// Short and long lines, side by side and apart.
const std::vector<Shape> kScanShapes = {{1}, {5}, {33}, {3, 40, 2}, {2, 530}, {1, 2100, 1}, {0, 3}};

TEST_CASE("scan: sums and products as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : kScanShapes) {
    CAPTURE(to_string(shape));
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      for (const bool reverse : {false, true}) {
        for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::int64}) {
          const kernels::ScanAxis along{axis, reverse};
          const Array x =
              is_floating(dtype) ? uniform_array(shape, 0.9, 1.1, dtype) : uniform_array(shape, -3, 3).astype(dtype);
          const auto sum = [&](const Array& a) {
            const Array y = empty(shape, dtype, a.device());
            launch<kernels::CumulativeSum>(a.device(), along, a, y);
            return y;
          };
          const auto product = [&](const Array& a) {
            const Array y = empty(shape, dtype, a.device());
            launch<kernels::CumulativeProduct>(a.device(), along, a, y);
            return y;
          };
          check_on_gpu(*device, sum, 30, x);
          check_on_gpu(*device, product, 4, x);
        }
      }
    }
  }
}

TEST_CASE("scan: a part of a long line that overflows by itself") {
  const auto device = gpu_device();
  if (!device) return;
  // From the start the sum is -3e38, then 0, then 3e38; that of two neighbours by themselves is infinite.
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const Array x = zeros({1, 700}, dtype);
    x.slice(1, 0, 1).fill(-3e38);
    x.slice(1, 600, 2).fill(3e38);
    const auto sum = [&](const Array& a) {
      const Array y = empty({1, 700}, dtype, a.device());
      launch<kernels::CumulativeSum>(a.device(), kernels::ScanAxis{1, false}, a, y);
      return y;
    };
    check_on_gpu(*device, sum, 4, x);
    CHECK(sum(x.to_device(*device)).slice(1, 699, 1).to_vector<double>()[0] > 2.9e38);
  }
}

TEST_CASE("scan: recurrences as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Shape& shape : kScanShapes) {
    if (numel(shape) == 0) continue;
    CAPTURE(to_string(shape));
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      Shape shorter = shape;
      --shorter[axis];
      for (const bool reverse : {false, true}) {
        for (const Dtype dtype : {Dtype::float16, Dtype::float64, Dtype::int64}) {
          const auto numbers = [&](const Shape& s, uint64_t seed) {
            return is_floating(dtype) ? uniform_array(s, -0.9, 0.9, dtype, seed)
                                      : uniform_array(s, -2, 2, Dtype::float32, seed).astype(dtype);
          };
          const auto recur = [&](const Array& a, const Array& b) {
            const Array y = empty(shape, dtype, b.device());
            launch<kernels::LinearRecurrence>(b.device(), kernels::ScanAxis{axis, reverse}, a, b, y);
            return y;
          };
          check_on_gpu(*device, recur, 4, numbers(shorter, 1), numbers(shape, 2));
        }
      }
    }
  }
}

TEST_CASE("scan: enough lines for a thread each") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({2, 3, 17000}, -1, 1);
  const auto scans = [&](const Array& a) {
    const Array sum = empty_like(a), product = empty_like(a), recurrence = empty_like(a);
    const kernels::ScanAxis along{1, true};
    launch<kernels::CumulativeSum>(a.device(), along, a, sum);
    launch<kernels::CumulativeProduct>(a.device(), along, a, product);
    launch<kernels::LinearRecurrence>(a.device(), along, a.slice(1, 0, 2), a, recurrence);
    return std::vector<Array>{sum, product, recurrence};
  };
  check_on_gpu(*device, scans, 2, x);
}

TEST_CASE("scan: any strides, and results of another dtype") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({4, 6, 5}, -1, 1);
  for (const Layout layout : kLayouts) {
    for (const Layout to : kWritableLayouts) {
      const auto sum = [&](const Array& a) {
        const Array y = result_like(a, x.shape(), Dtype::float64, to);
        launch<kernels::CumulativeSum>(a.device(), kernels::ScanAxis{1, false}, a, y);
        return y;
      };
      const Array given = in_layout(x, layout);
      const std::vector<double> expected = sum(given).to_vector<double>(),
                                got = sum(on_device(given, *device)).to_vector<double>();
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5).scale(1));
    }
  }
}

TEST_CASE("scan: a zero stays zero where later factors multiply to infinity") {
  const auto device = gpu_device();
  if (!device) return;
  std::vector<float> values(3000, 2.0f);
  values[0] = 0;
  const Array x = array(values, *device), y = empty_like(x);
  launch<kernels::CumulativeProduct>(*device, kernels::ScanAxis{0, false}, x, y);
  CHECK(y.to_vector<float>() == std::vector<float>(3000, 0.0f));
}

}  // namespace
}  // namespace kusari::testing
