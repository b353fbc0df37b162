#include "kusari/framework/xp/linear_algebra.h"

#include <limits>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/xp/creation.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

Array transposed(const Array& a) { return a.swapaxes(-1, -2); }
double tolerance_of(Dtype dtype) { return dtype == Dtype::float64 ? 1e-11 : 2e-4; }

/// Every matrix is the identity.
void check_identity(const Array& a) {
  check_equal(a, xp::identity(a.shape(-1), {.dtype = a.dtype()}).broadcast_to(a.shape()), tolerance_of(a.dtype()));
}

}  // namespace

TEST_CASE("xp::matmul, einsum and outer of integers too") {
  const Array a = integers({2, 3, 4}, -5, 5, 1, Dtype::int32), b = integers({4, 2}, -5, 5, 2, Dtype::int32);
  std::vector<double> expected;
  for (size_t i = 0; i < 6; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += numbers(a)[4 * i + k] * numbers(b)[2 * k + j];
      expected.push_back(sum);
    }
  }
  check_equal(xp::matmul(a, b), {2, 3, 2}, expected);
  check_equal(xp::einsum("bij,jk->bik", {a, b}), {2, 3, 2}, expected);
  CHECK(xp::einsum("bij,jk->bik", {a, b}).dtype() == Dtype::int32);
  check_equal(xp::einsum("ij->ji", {b}), b.transpose());
  check_equal(xp::outer(array<int64_t>({1, 2}), array<double>({3, 4, 5})), {2, 3}, {3, 4, 5, 6, 8, 10});
  CHECK_THROWS_AS(xp::matmul(a, a), TypeError);
  CHECK_THROWS_AS(xp::einsum("ij,", {a}), ValueError);
}

TEST_CASE("xp::inv, det, slogdet, cholesky and solve") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const int64_t n : {1, 2, 5}) {
      const Array noise = reals({3, n, n}, -1, 1, 7, dtype);
      const Array a = noise + xp::identity(n, {.dtype = dtype, .device = test_device()}) * static_cast<double>(n);
      check_identity(xp::matmul(xp::inv(a), a));
      const xp::SignedLog parts = xp::slogdet(-a);
      check_equal(parts.sign * xp::exp(parts.log), xp::det(-a), tolerance_of(dtype));
      const Array square = xp::matmul(a, transposed(a)), lower = xp::cholesky(square);
      check_equal(xp::matmul(lower, transposed(lower)), square, 30 * tolerance_of(dtype));
      const Array b = reals({n, 2}, -1, 1, 8, dtype), v = reals({n}, -1, 1, 9, dtype);
      CHECK(xp::solve(a, b).shape() == Shape{3, n, 2});
      check_equal(xp::matmul(a, xp::solve(a, b)), b.broadcast_to({3, n, 2}), tolerance_of(dtype));
      check_equal(xp::matmul(a, xp::solve(a, v).expand_dims(-1)).squeeze(-1), v.broadcast_to({3, n}),
                  tolerance_of(dtype));
    }
  }
  const Array singular = array<double>({1, 2, 2, 4}, {2, 2});
  check_equal(xp::slogdet(singular).sign, {}, {0});
  check_equal(xp::slogdet(singular).log, {}, {-std::numeric_limits<double>::infinity()});
  CHECK(xp::det(array<int64_t>({1, 2, 3, 4}, {2, 2})).item<double>() == doctest::Approx(-2));
  CHECK(xp::det(zeros({2, 0, 0})).shape() == Shape{2});
  check_equal(xp::slogdet(zeros({0, 0})).sign, {}, {1});
  CHECK(xp::solve(zeros({0, 0}), zeros({0, 3})).shape() == Shape{0, 3});
  CHECK_THROWS_WITH_AS(xp::solve(singular, array<double>({1, 2})), "xp::solve: a is singular", ValueError);
  CHECK_THROWS_AS(xp::inv(singular), ValueError);
  CHECK_THROWS_AS(xp::cholesky(-singular), ValueError);
  CHECK_THROWS_WITH_AS(xp::inv(zeros({2, 3})), "xp::inv: a has shape (2, 3): its last two sizes must be equal",
                       TypeError);
  CHECK_THROWS_AS(xp::det(zeros({3})), TypeError);
  CHECK_THROWS_AS(xp::solve(singular, zeros({3})), TypeError);
}

TEST_CASE("xp::qr and svd put matrices of any shape together again") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const Shape& shape : {Shape{4, 3}, Shape{3, 4}, Shape{5, 5}, Shape{2, 6, 1}, Shape{2, 1, 3}}) {
      CAPTURE(shape);
      const Array a = reals(shape, -2, 2, 3, dtype);
      const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
      for (const bool whole : {false, true}) {
        const xp::QrFactors f = xp::qr(a, {.complete = whole});
        CHECK(f.q.shape(-1) == (whole ? m : k));
        check_equal(xp::matmul(f.q, f.r), a, tolerance_of(dtype));
        check_identity(xp::matmul(transposed(f.q), f.q));
        check_equal(xp::tril(f.r, -1), zeros_like(f.r.contiguous()));

        const xp::SingularFactors s = xp::svd(a, {.full_matrices = whole});
        CHECK(s.u.shape(-1) == (whole ? m : k));
        CHECK(s.vt.shape(-2) == (whole ? n : k));
        check_identity(xp::matmul(transposed(s.u), s.u));
        check_identity(xp::matmul(s.vt, transposed(s.vt)));
        const Array u = s.u.slice(a.ndim() - 1, 0, k), vt = s.vt.slice(a.ndim() - 2, 0, k);
        check_equal(xp::matmul(u * s.s.expand_dims(-2), vt), a, tolerance_of(dtype));
        check_equal(xp::svdvals(a), s.s, tolerance_of(dtype));
      }
    }
  }
  CHECK(xp::qr(zeros({3, 0}), {.complete = true}).q.shape() == Shape{3, 3});
  CHECK(xp::svd(zeros({0, 3})).vt.shape() == Shape{3, 3});
  CHECK(std::isnan(xp::svdvals(array<double>({NAN, 1, 1, 1}, {2, 2})).at(0).item<double>()));
}

TEST_CASE("xp::eigh reads the lower triangle") {
  const Array noise = reals({2, 4, 4}, -1, 1);
  const xp::EigenFactors f = xp::eigh(noise);
  const Array symmetric = xp::tril(noise) + transposed(xp::tril(noise, -1));
  check_equal(xp::matmul(f.vectors * f.values.expand_dims(-2), transposed(f.vectors)), symmetric, 1e-11);
  for (const Array& row : {f.values.at(0), f.values.at(1)}) {
    CHECK(BoolArray(row.slice(0, 0, 3) <= row.slice(0, 1, 3)).all());
  }
  check_equal(xp::eigvalsh(noise), f.values, 1e-12);
}

TEST_CASE("xp::pinv, lstsq, matrix_rank and matrix_power") {
  const Array a = reals({6, 3}, -1, 1), b = reals({6, 2}, -1, 1, 2);
  const Array inverse = xp::pinv(a);
  check_equal(xp::matmul(xp::matmul(a, inverse), a), a, 1e-12);
  const xp::LeastSquares best = xp::lstsq(a, b);
  CHECK(best.rank == 3);
  // The distance is at right angles to a's columns.
  const Array distance = b - xp::matmul(a, best.x);
  check_equal(xp::matmul(a.transpose(), distance), zeros({3, 2}, Dtype::float64), 1e-12);
  check_equal(best.residuals, xp::sum(xp::square(distance), 0), 1e-12);
  CHECK(xp::lstsq(a, b.slice(1, 0, 1).reshape({6})).x.shape() == Shape{3});
  // Of rank 1: the shortest of all solutions.
  const Array flat = array<double>({1, 1, 2, 2}, {2, 2});
  const xp::LeastSquares least = xp::lstsq(flat, array<double>({2, 4}));
  CHECK(least.rank == 1);
  CHECK(least.residuals.size() == 0);
  check_equal(least.x, {2}, {1, 1}, 1e-12);
  CHECK(xp::matrix_rank(flat).item<int64_t>() == 1);
  CHECK(xp::matrix_rank(zeros({2, 3, 4})).to_vector<int64_t>() == std::vector<int64_t>{0, 0});
  check_equal(xp::pinv(zeros({2, 3})), {3, 2}, {0, 0, 0, 0, 0, 0});
  const Array m = array<int64_t>({1, 1, 1, 0}, {2, 2});
  check_equal(xp::matrix_power(m, 10), {2, 2}, {89, 55, 55, 34});
  check_equal(xp::matrix_power(m, 0), {2, 2}, {1, 0, 0, 1});
  check_equal(xp::matrix_power(m, 1), m);
  check_equal(xp::matrix_power(m, -2), {2, 2}, {1, -1, -1, 2}, 1e-6);
  CHECK_THROWS_AS(xp::lstsq(a, reals({5}, 0, 1)), TypeError);
}

TEST_CASE("xp::vector_norm and matrix_norm") {
  const double inf = std::numeric_limits<double>::infinity();
  const Array x = array<double>({3, -4, 0, 1, 2, -2}, {2, 3}, test_device());
  check_equal(xp::vector_norm(x, {.axis = 1}), {2}, {5, 3}, 1e-15);
  check_equal(xp::vector_norm(x), {}, {std::sqrt(34.0)}, 1e-15);
  check_equal(xp::vector_norm(x, {.ord = 1, .axis = 1, .keepdims = true}), {2, 1}, {7, 5});
  check_equal(xp::vector_norm(x, {.ord = 3, .axis = 1}), {2}, {std::cbrt(91.0), std::cbrt(17.0)}, 1e-15);
  check_equal(xp::vector_norm(x, {.ord = inf, .axis = 0}), {3}, {3, 4, 2});
  check_equal(xp::vector_norm(x, {.ord = -inf, .axis = 0}), {3}, {1, 2, 0});
  check_equal(xp::vector_norm(x, {.ord = 0}), {}, {5});
  check_equal(xp::matrix_norm(x), {}, {std::sqrt(34.0)}, 1e-15);
  check_equal(xp::matrix_norm(x, xp::MatrixNorm::one), {}, {6});
  check_equal(xp::matrix_norm(x, xp::MatrixNorm::infinity), {}, {7});
  CHECK_THROWS_AS(xp::vector_norm(x, {.ord = NAN}), ValueError);
  const std::vector<double> s = numbers(xp::svdvals(x));
  check_equal(xp::matrix_norm(x, xp::MatrixNorm::nuclear), {}, {s[0] + s[1]}, 1e-14);
  check_equal(xp::matrix_norm(x, xp::MatrixNorm::spectral), {}, {s[0]}, 1e-14);
  check_equal(xp::matrix_norm(x, xp::MatrixNorm::smallest_singular), {}, {s[1]}, 1e-14);
}

TEST_CASE("xp: linear algebra does not go through empty matrices, however many or wide") {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const auto none = [](const Shape& shape) { return zeros(shape, Dtype::float32, test_device()); };
  check_equal(xp::matrix_norm(none({3, 0, kHuge}), xp::MatrixNorm::nuclear), {3}, {0, 0, 0});
  CHECK(xp::svd(none({kHuge, 0, 3}), {.full_matrices = false}).vt.shape() == Shape{kHuge, 0, 3});
  CHECK(xp::svd(none({0, kHuge}), {.full_matrices = false}).u.shape() == Shape{0, 0});
  CHECK(xp::qr(none({kHuge, 0, 0})).r.shape() == Shape{kHuge, 0, 0});
  CHECK(xp::qr(none({0, kHuge})).r.shape() == Shape{0, kHuge});
  CHECK(xp::inv(none({kHuge, 0, 0})).shape() == Shape{kHuge, 0, 0});
  CHECK(xp::cholesky(none({kHuge, 0, 0})).shape() == Shape{kHuge, 0, 0});
  CHECK(xp::solve(none({kHuge, 0, 0}), none({kHuge, 0, 2})).shape() == Shape{kHuge, 0, 2});
  check_equal(xp::svd(none({0, 2})).vt, {2, 2}, {1, 0, 0, 1});
}
