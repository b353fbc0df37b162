#include "kusari/framework/kernels/linear_algebra.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

template <class Kernel>
Array solved(const Array& a) {
  const Array y = empty(a.shape(), a.dtype(), a.device());
  if constexpr (std::is_same_v<Kernel, kernels::Cofactors>) {
    launch<Kernel>(a.device(), a, y);
  } else {
    launch<Kernel>(a.device(), kernels::MatrixCall{"test"}, a, y);
  }
  return y;
}
Array determinants(const Array& a) {
  const Array y = empty(Shape(a.shape().begin(), a.shape().end() - 2), a.dtype(), a.device());
  launch<kernels::Determinant>(a.device(), a, y);
  return y;
}

// Far from singular.
Array well_conditioned(int64_t count, int64_t n, Dtype dtype) {
  std::vector<double> values = uniform_array({count, n, n}, -1, 1, Dtype::float64).to_vector<double>();
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>((m * n + i) * n + (i + 1) % n)] += 2.0 + 0.1 * double(n);
  }
  return array(values, {count, n, n}).astype(dtype);
}
Array positive_definite(int64_t count, int64_t n, Dtype dtype) {
  std::vector<double> values = uniform_array({count, n, n}, -0.5, 0.5, Dtype::float64).to_vector<double>();
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>((m * n + i) * n + i)] += double(n);
  }
  return array(values, {count, n, n}).astype(dtype);  // the lower triangle alone is read
}

TEST_CASE("linear algebra: as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {1, 2, 3, 7, 20, 45}) {
      CAPTURE(n);
      const double factor = 20;
      check_on_gpu(*device, solved<kernels::Inverse>, factor, well_conditioned(3, n, dtype));
      check_on_gpu(*device, solved<kernels::Cholesky>, factor, positive_definite(3, n, dtype));
      if (n > 7) continue;  // determinants of larger ones are no numbers of the half types
      check_on_gpu(*device, determinants, factor, well_conditioned(4, n, dtype));
      check_on_gpu(*device, solved<kernels::Cofactors>, factor, well_conditioned(4, n, dtype));
      const auto second = [](const Array& a, const Array& g) {
        const Array y = empty_like(a);
        launch<kernels::CofactorsGrad>(a.device(), a, g, y);
        return y;
      };
      check_on_gpu(*device, second, factor, well_conditioned(2, n, dtype), uniform_array({2, n, n}, -1, 1, dtype, 9));
    }
  }
}

TEST_CASE("linear algebra: singular matrices have cofactors") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t n : {1, 2, 3, 6}) {
    for (int64_t rank = 0; rank < n; ++rank) {
      CAPTURE(n);
      CAPTURE(rank);
      // The product of (n, rank) and (rank, n).
      const std::vector<double> left = uniform_array({n, n}, -1, 1, Dtype::float64, 3).to_vector<double>(),
                                right = uniform_array({n, n}, -1, 1, Dtype::float64, 4).to_vector<double>();
      std::vector<double> values(static_cast<size_t>(n * n), 0);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t k = 0; k < rank; ++k) {
            values[static_cast<size_t>(i * n + j)] +=
                left[static_cast<size_t>(i * n + k)] * right[static_cast<size_t>(k * n + j)];
          }
        }
      }
      const Array a = array(values, {1, n, n}), g = uniform_array({1, n, n}, -1, 1, Dtype::float64, 5);
      check_on_gpu(*device, solved<kernels::Cofactors>, 100, a);
      const auto second = [](const Array& own, const Array& weights) {
        const Array y = empty_like(own);
        launch<kernels::CofactorsGrad>(own.device(), own, weights, y);
        return y;
      };
      check_on_gpu(*device, second, 100, a, g);
    }
  }
}

TEST_CASE("linear algebra: what the CPU refuses is NaN, and its neighbours are not") {
  const auto device = gpu_device();
  if (!device) return;
  const auto is_nan = [](const Array& y) {
    std::vector<bool> result;
    for (const double value : y.to_vector<double>()) result.push_back(std::isnan(value));
    return result;
  };
  const Array singular = array<float>({1, 2, 2, 4, 1, 0, 0, 1}, {2, 2, 2}, *device);
  const std::vector<bool> first{true, true, true, true, false, false, false, false};
  CHECK(is_nan(solved<kernels::Inverse>(singular)) == first);
  const Array indefinite = array<double>({1, 2, 2, 1, 4, 0, 2, 5}, {2, 2, 2}, *device);
  CHECK(is_nan(solved<kernels::Cholesky>(indefinite)) == first);
  CHECK(determinants(singular).to_vector<float>() == std::vector<float>{0, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_nan(determinants(array<double>({nan, 1, 2, 3}, {1, 2, 2}, *device)))[0]);
}

TEST_CASE("linear algebra: any strides, no matrix, matrices without elements") {
  const auto device = gpu_device();
  if (!device) return;
  const Array a = well_conditioned(3, 5, Dtype::float32);
  for (const Layout layout : kLayouts) {
    check_on_gpu(*device, solved<kernels::Inverse>, 20, in_layout(a, layout));
    check_on_gpu(*device, determinants, 20, in_layout(a, layout));
    check_on_gpu(*device, solved<kernels::Cofactors>, 40, in_layout(a, layout));
  }
  CHECK(solved<kernels::Inverse>(zeros({0, 3, 3}, Dtype::float32, *device)).size() == 0);
  CHECK(determinants(zeros({2, 0, 0}, Dtype::float32, *device)).to_vector<float>() == std::vector<float>{1, 1});
}

}  // namespace
}  // namespace kusari::testing
