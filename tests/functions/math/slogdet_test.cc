#include "kusari/framework/functions/math/slogdet.h"

#include <cmath>
#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("slogdet") {
  const Array a = array<double>({4, 7, 2, 6, 0, 2, 4, 0}, {2, 2, 2}, test_device());  // 10 and -8
  for (const Dtype dtype : kFloatingDtypes) {
    const auto [sign, log] = F::slogdet(a.astype(dtype));
    CHECK(log.dtype() == dtype);
    check_close(sign, {2}, {1, -1});
    check_close(log, {2}, {std::log(10), std::log(8)}, 4);
  }
  // The determinant is no number of float32.
  const auto [sign, log] = F::slogdet(array<float>({-1e30f, 0, 0, 1e30f}, {2, 2}, test_device()));
  check_close(sign, {}, {-1});
  check_close(log, {}, {60 * std::log(10)});
  const auto none = F::slogdet(zeros({2, 0, 0}, Dtype::float32, test_device()));
  check_close(none.sign, {2}, {1, 1});
  check_close(none.log, {2}, {0, 0});
  CHECK(F::slogdet(zeros({0, 2, 2}, Dtype::float32, test_device())).log.shape() == Shape{0});
}

TEST_CASE("slogdet's gradients") {
  const auto log = [](const Variable& x) { return F::slogdet(x).log; };
  check_gradients(log, array<double>({2}, {1, 1}, test_device()));
  check_gradients(log, array<double>({2, 0.3, -0.4, 0.1, -1.5, 0.2, 0.5, -0.3, 1.8}, {3, 3}, test_device()));
  check_gradients(log, array<double>({4, 7, 2, 6, 0, 2, 4, 1}, {2, 1, 2, 2}, test_device()));
  const Variable x(array<double>({4, 7, 2, 6}, {2, 2}, test_device()));
  const std::vector<double> g = gradient(F::slogdet(x).log, x), expected = {0.6, -0.2, -0.7, 0.4};
  for (size_t i = 0; i < 4; ++i) CHECK(g[i] == doctest::Approx(expected[i]).epsilon(1e-13));
  CHECK(!F::slogdet(x).sign.requires_grad());
}

TEST_CASE("slogdet of a singular matrix and of NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable a(array<double>({nan, 1, 2, 3}, {2, 2}, test_device()));
  check_close(F::slogdet(a).log, {}, {nan});
  CHECK(std::isnan(gradient(F::slogdet(a).log, a)[0]));
  const Variable x(array<double>({1, 0, 0, 1, 1, 2, 2, 4}, {2, 2, 2}, test_device()));
  const auto [sign, log] = F::slogdet(x);
  check_close(sign, {2}, {1, 0});
  check_close(log, {2}, {0, -std::numeric_limits<double>::infinity()});
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(gradient(log, x), "F::slogdet's gradient: matrix 1 of a is singular", ValueError);
  } else {
    CHECK(std::isnan(gradient(log, x)[4]));
  }
}

TEST_CASE("slogdet's errors") {
  CHECK_THROWS_WITH_AS(F::slogdet(ones({2, 3})),
                       "F::slogdet: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(F::slogdet(ones({2})), "F::slogdet: a has shape (2,): a.ndim must be at least 2 (1 < 2)",
                       TypeError);
  CHECK_THROWS_AS(F::slogdet(int_ones({2, 2})), TypeError);
  CHECK_THROWS_WITH_AS(F::slogdet(Variable()), "F::slogdet: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
