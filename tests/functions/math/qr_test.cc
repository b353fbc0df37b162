#include "kusari/framework/functions/math/qr.h"

#include <cmath>
#include <limits>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("qr") {
  // The example of Wikipedia, https://en.wikipedia.org/wiki/QR_decomposition.
  const Array a = array<double>({12, -51, 4, 6, 167, -68, -4, 24, -41}, {3, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const auto [q, r] = F::qr(a.astype(dtype));
    CHECK(q.dtype() == dtype);
    CHECK(r.dtype() == dtype);
    check_close(r * r, {3, 3}, {196, 441, 196, 0, 30625, 4900, 0, 0, 1225}, 4);
    check_close(175 * F::absolute(q), {3, 3}, {150, 69, 58, 75, 158, 6, 50, 30, 165}, 4);
    check_close(F::matmul(q, r), {3, 3}, a.to_vector<double>(), 40);
  }
  const auto tall = F::qr(array<double>({3, 4}, {1, 2, 1}, test_device()));
  check_close(tall.r * tall.r, {1, 1, 1}, {25});
  check_close(tall.q * tall.r, {1, 2, 1}, {3, 4});
  const auto flat = F::qr(array<double>({3, 4}, {1, 1, 2}, test_device()));
  check_close(flat.q * flat.q, {1, 1, 1}, {1});
  check_close(F::matmul(flat.q, flat.r), {1, 1, 2}, {3, 4});
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}, Shape{0, 2, 3}}) {
    const Variable x(zeros(shape, Dtype::float32, test_device()));
    CHECK(gradient(F::qr(x).q, x).empty());
    CHECK(gradient(F::qr(x).r, x).empty());
  }
}

TEST_CASE("qr's gradients") {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}, Shape{2, 1, 1, 3}}) {
    CAPTURE(shape);
    const Array x = uniform(shape, -2, 2, 3);
    check_gradients(
        [](const Variable& v) {
          const auto [q, r] = F::qr(v);
          return Variables{q, r};
        },
        x);
    check_gradients([](const Variable& v) { return F::qr(v).q; }, x);
    check_gradients([](const Variable& v) { return F::qr(v).r; }, x);
  }
}

TEST_CASE("qr of dependent columns and of NaN") {
  const Variable zero(zeros({3, 2}, Dtype::float64, test_device()));
  const Variable r = F::qr(zero).r;
  check_close(r, {2, 2}, {0, 0, 0, 0});
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(gradient(r, zero), "F::qr's gradient: a is singular", ValueError);
  } else {
    CHECK(std::isnan(gradient(r, zero)[0]));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable x(array<double>({nan, 1, 1, 3}, {2, 2}, test_device()));
  check_close(F::qr(x).q, {2, 2}, {nan, nan, nan, nan});
  CHECK(std::isnan(gradient(F::qr(x).r, x)[0]));
}

TEST_CASE("qr's errors") {
  CHECK_THROWS_WITH_AS(F::qr(ones({2})), "F::qr: a has shape (2,): a.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::qr(int_ones({2, 2})), "F::qr: a has dtype int64: a.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::qr(Variable()), "F::qr: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
