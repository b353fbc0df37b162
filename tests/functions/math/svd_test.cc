#include "kusari/framework/functions/math/svd.h"

#include <cmath>
#include <limits>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("svd") {
  const Array a = array<double>({0, 2, 3, 0, 0, 0}, {3, 2}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const auto [u, s, vt] = F::svd(a.astype(dtype));
    CHECK(u.dtype() == dtype);
    CHECK(s.dtype() == dtype);
    CHECK(vt.dtype() == dtype);
    check_close(s, {2}, {3, 2}, 4);
    check_close(u * u, {3, 2}, {0, 1, 1, 0, 0, 0}, 4);
    check_close(vt * vt, {2, 2}, {1, 0, 0, 1}, 4);
    check_close(F::matmul(u, vt), {3, 2}, {0, 1, 1, 0, 0, 0}, 4);
  }
  const auto flat = F::svd(a.transpose().reshape({1, 2, 3}));
  CHECK(flat.u.shape() == Shape{1, 2, 2});
  CHECK(flat.vt.shape() == Shape{1, 2, 3});
  check_close(flat.s, {1, 2}, {3, 2});
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}, Shape{0, 2, 3}}) {
    const Variable x(zeros(shape, Dtype::float32, test_device()));
    CHECK(gradient(F::svd(x).u, x).empty());
    CHECK(gradient(F::svd(x).vt, x).empty());
  }
}

TEST_CASE("svd's gradients") {
  const auto all = [](const Variable& x) {  // the sign of a pair of vectors is nobody's business
    const auto [u, s, vt] = F::svd(x);
    return Variables{u * u, s, vt * vt, F::matmul(u, vt)};
  };
  const auto squared = [](const Variable& x) { return x * x; };
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}, Shape{2, 1, 1, 3}}) {
    CAPTURE(shape);
    const Array x = uniform(shape, -2, 2, 3);
    check_gradients(all, x);
    check_gradients([&](const Variable& v) { return squared(F::svd(v).u); }, x);
    check_gradients([](const Variable& v) { return F::svd(v).s; }, x);
    check_gradients([&](const Variable& v) { return squared(F::svd(v).vt); }, x);
  }
}

TEST_CASE("svd where values are equal: the values alone have a gradient") {
  const Variable x(array<double>({1, 0, 0, 1}, {2, 2}, test_device()));
  CHECK(gradient(F::svd(x).s, x) == std::vector<double>{1, 0, 0, 1});
  for (const double value : gradient(F::svd(x).u, x)) CHECK(!std::isfinite(value));
  for (const double value : gradient(F::svd(x).vt, x)) CHECK(!std::isfinite(value));
  // Singular, but of values that differ.
  const Variable singular(array<double>({2, 0, 0, 0}, {2, 2}, test_device()));
  for (const double value : gradient(F::svd(singular).u, singular)) CHECK(std::isfinite(value));
}

TEST_CASE("svd of NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable x(array<double>({nan, 1, 1, 3, 5, 0, 0, 3}, {2, 2, 2}, test_device()));
  check_close(F::svd(x).s, {2, 2}, {nan, nan, 5, 3});
  const std::vector<double> g = gradient(F::svd(x).s, x);
  CHECK(std::isnan(g[0]));
  CHECK(g[4] == doctest::Approx(1));
}

TEST_CASE("svd's errors") {
  CHECK_THROWS_WITH_AS(F::svd(ones({2})), "F::svd: a has shape (2,): a.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::svd(int_ones({2, 2})), "F::svd: a has dtype int64: a.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::svd(Variable()), "F::svd: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
