#include "kusari/framework/kernels/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

struct Decomposition {
  Array values, vectors;

  explicit Decomposition(const Array& a)
      : values{empty(Shape(a.shape().begin(), a.shape().end() - 1), a.dtype(), a.device())}, vectors{empty_like(a)} {
    launch<kernels::SymmetricEigen>(a.device(), a, values, vectors);
  }
};

/// `count` symmetric matrices of n rows.
Array symmetric(int64_t count, int64_t n, Dtype dtype) {
  const std::vector<double> random = uniform_array({count, n, n}, -1, 1, Dtype::float64).to_vector<double>();
  std::vector<double> values(random.size());
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        values[static_cast<size_t>((m * n + i) * n + j)] =
            random[static_cast<size_t>((m * n + std::max(i, j)) * n + std::min(i, j))];
      }
    }
  }
  return array(values, {count, n, n}).astype(dtype);
}

/// The largest element of |V diag(w) V^T - A| and of |V^T V - 1|.
double residual(const Array& a, const Decomposition& d) {
  const int64_t n = a.shape(-1), count = n == 0 ? 0 : a.size() / n / n;
  const std::vector<double> as = a.to_vector<double>(), w = d.values.to_vector<double>(),
                            v = d.vectors.to_vector<double>();
  double worst = 0;
  for (int64_t m = 0; m < count; ++m) {
    const double *const vm = v.data() + m * n * n, *const wm = w.data() + m * n, *const am = as.data() + m * n * n;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double rebuilt = 0, product = 0;
        for (int64_t k = 0; k < n; ++k) {
          rebuilt += vm[i * n + k] * wm[k] * vm[j * n + k];
          product += vm[k * n + i] * vm[k * n + j];
        }
        worst = std::max({worst, std::abs(rebuilt - am[i * n + j]), std::abs(product - (i == j ? 1 : 0))});
      }
    }
  }
  return worst;
}

TEST_CASE("symmetric eigen: values as on the CPU, vectors that rebuild the matrix") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {1, 2, 3, 5, 16, 33}) {
      CAPTURE(n);
      const Array a = symmetric(3, n, dtype);
      const Decomposition expected(a), got(a.to_device(*device));
      check_same(got.values, expected.values, dtype == Dtype::float32 ? 4.0 : 2.0 * static_cast<double>(n));
      CHECK(residual(a, got) < 8 * static_cast<double>(n) * gpu_tolerance(dtype));
    }
  }
}

TEST_CASE("symmetric eigen: matrices that shared memory does not hold") {
  const auto device = gpu_device();
  if (!device) return;
  const Array a = symmetric(1, 130, Dtype::float64);
  const Decomposition expected(a), got(a.to_device(*device));
  check_same(got.values, expected.values, 130);
  CHECK(residual(a, got) < 1e-11);
}

TEST_CASE("symmetric eigen: diagonal, repeated and zero eigenvalues; NaN; nothing") {
  const auto device = gpu_device();
  if (!device) return;
  const Array diagonal = array<double>({3, 0, 0, 0, -1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 3, 3}, *device);
  const Decomposition d(diagonal);
  CHECK(d.values.to_vector<double>() == std::vector<double>{-1, 3, 3, 0, 0, 0});
  CHECK(residual(diagonal, d) == 0);

  const Array bad = array<float>({1, 2, 2, 1, 1, NAN, NAN, 1}, {2, 2, 2}, *device);
  const Decomposition b(bad);
  const std::vector<double> values = b.values.to_vector<double>(), vectors = b.vectors.to_vector<double>();
  CHECK(values[0] == doctest::Approx(-1));
  CHECK(values[1] == doctest::Approx(3));
  for (size_t i = 2; i < 4; ++i) CHECK(std::isnan(values[i]));
  for (size_t i = 4; i < 8; ++i) CHECK(std::isnan(vectors[i]));

  CHECK(Decomposition(zeros({0, 3, 3}, Dtype::float32, *device)).values.shape() == Shape{0, 3});
  CHECK(Decomposition(zeros({2, 0, 0}, Dtype::float32, *device)).values.shape() == Shape{2, 0});
}

TEST_CASE("symmetric eigen: small eigenvalues keep their digits") {
  const auto device = gpu_device();
  if (!device) return;
  // A covariance with eigenvalues 1 and 1e-6 by a turn of 45 degrees.
  const double sum = (1 + 1e-6) / 2, difference = (1 - 1e-6) / 2;
  const Array a = array<double>({sum, difference, difference, sum}, {1, 2, 2}, *device);
  CHECK(Decomposition(a).values.to_vector<double>()[0] == doctest::Approx(1e-6).epsilon(1e-9));
}

TEST_CASE("symmetric eigen: any strides") {
  const auto device = gpu_device();
  if (!device) return;
  const Array a = symmetric(4, 6, Dtype::float32);
  for (const Layout layout : kLayouts) {
    if (layout == Layout::broadcast) continue;
    const Array there = on_device(in_layout(a, layout), *device);
    CHECK(residual(a, Decomposition(there)) < 1e-5);
  }
  const Array values = on_device(in_layout(empty({4, 6}), Layout::every_second), *device);
  const Array vectors = on_device(in_layout(empty({4, 6, 6}), Layout::transposed), *device);
  launch<kernels::SymmetricEigen>(*device, a.to_device(*device), values, vectors);
  const Decomposition direct(a.to_device(*device));
  CHECK(values.to_vector<float>() == direct.values.to_vector<float>());
  CHECK(vectors.to_vector<float>() == direct.vectors.to_vector<float>());
}

}  // namespace
}  // namespace kusari::testing
