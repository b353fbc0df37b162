#include "kusari/framework/kernels/decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/xp/creation.h"
#include "kusari/framework/xp/linear_algebra.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

constexpr double kFactor = 100;

Array transposed(const Array& a) { return a.swapaxes(-1, -2); }
Array wide(const Array& a) { return a.astype(Dtype::float64); }

/// q^T q = 1, to the digits of the dtype that was computed.
void check_orthonormal(const Array& q, Dtype dtype) {
  const Array x = wide(q), product = xp::matmul(transposed(x), x);
  check_same(product.astype(dtype), xp::eye(q.shape(-1)).astype(dtype).broadcast_to(product.shape()), kFactor);
}

const Shape kShapes[] = {{1, 1, 1}, {2, 3, 3}, {2, 7, 4}, {2, 4, 7}, {1, 40, 12}, {1, 12, 40}, {1, 33, 33}};

TEST_CASE("decompositions: solutions and logarithms of determinants as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  const auto solve = [](const Array& a, const Array& b) { return xp::solve(a, b); };
  const auto slogdet = [](const Array& a) {
    const xp::SignedLog result = xp::slogdet(a);
    return std::vector<Array>{result.sign, result.log};
  };
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(std::string(name(dtype)));
    for (const int64_t n : {1, 2, 3, 7, 20, 45}) {
      CAPTURE(n);
      const Array a = uniform_array({3, n, n}, -1, 1, Dtype::float64, 3) + xp::eye(n) * (1.0 + 0.5 * double(n));
      check_on_gpu(*device, slogdet, 20, a.astype(dtype));
      check_on_gpu(*device, slogdet, 20, (-a).astype(dtype));
      for (const int64_t m : {1, 5}) {
        check_on_gpu(*device, solve, 20, a.astype(dtype), uniform_array({3, n, m}, -1, 1, dtype, 4));
      }
    }
  }
  // Pivots are exchanged, and a determinant that no float32 holds has a logarithm.
  check_on_gpu(*device, slogdet, 20, array<float>({0, 2, 1, 1, 0, 3, 4, 1, 0}, {3, 3}));
  check_on_gpu(*device, slogdet, 20, xp::eye(40, {.dtype = Dtype::float32}) * 1e5);
  check_on_gpu(*device, solve, 20, array<float>({0, 2, 1, 1, 0, 3, 4, 1, 0}, {3, 3}), uniform_array({3, 2}, -1, 1));
  check_on_gpu(*device, slogdet, 1, zeros({2, 0, 0}, Dtype::float32));
}

TEST_CASE("decompositions: a singular matrix has no solution, and its determinant is 0") {
  const auto device = gpu_device();
  if (!device) return;
  const Array a = array<float>({1, 2, 2, 4, 1, 0, 0, 1}, {2, 2, 2}, *device);
  const std::vector<float> x = xp::solve(a, ones({2, 2, 1}, Dtype::float32, *device)).to_vector<float>();
  CHECK(std::isnan(x[0]));
  CHECK(x[2] == 1);
  const xp::SignedLog parts = xp::slogdet(a);
  CHECK(parts.sign.to_vector<float>() == std::vector<float>{0, 1});
  CHECK(parts.log.to_vector<float>()[0] == -std::numeric_limits<float>::infinity());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(xp::slogdet(array<double>({nan, 1, 2, 3}, {2, 2}, *device)).sign.item<double>()));
}

TEST_CASE("decompositions: QR has the factors of the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Shape& shape : kShapes) {
      for (const bool complete : {false, true}) {
        CAPTURE(std::string(name(dtype)));
        CAPTURE(to_string(shape));
        CAPTURE(complete);
        const auto qr = [&](const Array& a) {
          const xp::QrFactors factors = xp::qr(a, {.complete = complete});
          return std::vector<Array>{factors.q, factors.r};
        };
        const Array a = uniform_array(shape, -1, 1, dtype, 5);
        check_on_gpu(*device, qr, kFactor, a);
        check_orthonormal(qr(on_device(a, *device))[0].to_device(Device()), dtype);
      }
    }
  }
  // Nothing to be reflected.
  const auto r = [](const Array& a) { return xp::qr(a).r; };
  check_on_gpu(*device, r, 1, xp::eye(4, {.dtype = Dtype::float32}));
  check_on_gpu(*device, r, 1, zeros({3, 2}, Dtype::float32));
  const Array empty_matrix = xp::qr(zeros({3, 0}, Dtype::float32, *device), {.complete = true}).q;
  CHECK(empty_matrix.to_vector<float>() == std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

// u diag(s) vt is a, whatever signs the factors have.
void check_singular(const Array& a, bool full_matrices, const Device& device) {
  const Dtype dtype = a.dtype();
  const xp::SingularFactors parts = xp::svd(on_device(a, device), {.full_matrices = full_matrices});
  CHECK(parts.u.device() == device);
  const Array u = parts.u.to_device(Device()), s = parts.s.to_device(Device()), vt = parts.vt.to_device(Device());
  check_orthonormal(u, dtype);
  check_orthonormal(transposed(vt), dtype);
  const int64_t k = s.shape(-1);
  const Array product = xp::matmul(wide(u).slice(-1, 0, k) * wide(s).expand_dims(-2), wide(vt).slice(-2, 0, k));
  check_same(product.astype(dtype), a, kFactor);
  check_same(s, xp::svdvals(a), kFactor);
  check_same(xp::svdvals(on_device(a, device)), s, kFactor);
}

TEST_CASE("decompositions: singular values of the CPU, and factors whose product is the matrix") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Shape& shape : kShapes) {
      for (const bool full_matrices : {false, true}) {
        CAPTURE(std::string(name(dtype)));
        CAPTURE(to_string(shape));
        CAPTURE(full_matrices);
        check_singular(uniform_array(shape, -1, 1, dtype, 6), full_matrices, *device);
      }
    }
  }
}

TEST_CASE("decompositions: singular factors of matrices without full rank") {
  const auto device = gpu_device();
  if (!device) return;
  for (const bool full_matrices : {false, true}) {
    check_singular(zeros({3, 2}, Dtype::float64), full_matrices, *device);
    for (const Shape& shape : {Shape{8, 5}, Shape{5, 8}, Shape{6, 6}}) {
      const Array a = xp::outer(uniform_array({shape[0]}, -1, 1, Dtype::float64, 1),
                                uniform_array({shape[1]}, -1, 1, Dtype::float64, 2));
      check_singular(a, full_matrices, *device);
      check_singular(a + xp::outer(uniform_array({shape[0]}, -1, 1, Dtype::float64, 3),
                                   uniform_array({shape[1]}, -1, 1, Dtype::float64, 4)),
                     full_matrices, *device);
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : xp::svdvals(array<double>({nan, 1, 2, 3}, {2, 2}, *device)).to_vector<double>()) {
    CHECK(std::isnan(value));
  }
}

TEST_CASE("decompositions: matrices without elements") {
  const auto device = gpu_device();
  if (!device) return;
  const auto svd = [](const Array& a) {
    const auto result = xp::svd(a);
    return std::vector<Array>{result.u, result.s, result.vt};
  };
  const auto qr = [](const Array& a) {
    const auto result = xp::qr(a, {.complete = true});
    return std::vector<Array>{result.q, result.r};
  };
  for (const Shape& shape : {Shape{0, 2}, Shape{2, 0}, Shape{3, 0, 2}, Shape{0, 2, 2}, Shape{0, 0}}) {
    CAPTURE(to_string(shape));
    check_on_gpu(*device, svd, 1, zeros(shape, Dtype::float32));
    check_on_gpu(*device, qr, 1, zeros(shape, Dtype::float32));
  }
  const Shape many{int64_t{1} << 40, 0, 0};
  CHECK(xp::qr(zeros(many, Dtype::float32, *device)).q.shape() == many);
  CHECK(xp::svd(zeros(many, Dtype::float32, *device)).u.shape() == many);
}

}  // namespace
}  // namespace kusari::testing
