#include "kusari/framework/functions/math/logaddexp.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("logaddexp") {
  const auto logaddexp = [](const Variable& a, const Variable& b) { return F::logaddexp(a, b); };
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
    const Array x1 = uniform(shape, -3, 3, 1), x2 = uniform(shape, -3, 3, 2);
    check_forward(
        logaddexp, [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }, x1, x2);
    check_gradients(logaddexp, x1, x2);
  }
  check_gradients(logaddexp, uniform({2, 3}, -2, 2, 3), uniform({3}, -2, 2, 4));
  const Variable one(array<double>({0.5, -1})), same(array<double>({0.5, -1}));
  const Variable y = F::logaddexp(one, same);
  check_close(y, {2}, {0.5 + std::log(2.0), -1 + std::log(2.0)});
  CHECK(gradient(y, one) == std::vector<double>{0.5, 0.5});
  CHECK(gradient(F::logaddexp(one, same), same) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("logaddexp of large numbers and of infinities") {
  const double inf = INFINITY;
  const Variable a(array<double>({1000, -1000, -1e8, 3, inf, -inf, inf, -inf, NAN, 1}));
  const Variable b(array<double>({1000, -1001, 1, -inf, 3, -inf, inf, inf, 1, NAN}));
  const Variable y = F::logaddexp(a, b);
  check_close(y, {10}, {1000 + std::log(2.0), -1000 + std::log1p(std::exp(-1.0)), 1, 3, inf, -inf, inf, inf, NAN, NAN});
  check_close(F::logaddexp(array<float>({-1e8F}), array<float>({1})), {1}, {1});
  const std::vector<double> by_a = gradient(y, a), by_b = gradient(F::logaddexp(a, b), b);
  const double share = 1 / (1 + std::exp(-1.0));
  const std::vector<double> expected{0.5, share, 0, 1, 1, 1, 1, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(by_a[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    CHECK(by_b[i] == doctest::Approx(1 - expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("logaddexp of what does not fit") {
  CHECK_THROWS_WITH_AS(F::logaddexp(ones({2}), ones({2}, Dtype::float64)),
                       "F::logaddexp: x1 has dtype float32 but x2 has dtype float64: x1.dtype must equal x2.dtype",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::logaddexp(ones({2}), int_ones({2})),
                       "F::logaddexp: x2 has dtype int64: x2.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::logaddexp(ones({2}), ones({3})), doctest::Contains("F::logaddexp"), TypeError);
}

}  // namespace
}  // namespace kusari
