#include "kusari/framework/functions/math/det.h"

#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

const std::vector<double> kSingular3 = {1, 2, 3, 4, 5, 6, 7, 8, 9};  // of rank 2

TEST_CASE("det") {
  const Array a = array<double>({4, 7, 2, 6}, {2, 2}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::det(a.astype(dtype));
    CHECK(y.dtype() == dtype);
    check_close(y, {}, {10}, 4);
  }
  check_close(F::det(array<double>({0, 2, 4, 0}, {2, 2}, test_device())), {}, {-8});
  check_close(F::det(array<double>({1, 2, 2, 4}, {2, 2}, test_device())), {}, {0});
  check_close(F::det(zeros({3, 3}, Dtype::float32, test_device())), {}, {0});
  check_close(F::det(ones({0, 0}, Dtype::float32, test_device())), {}, {1});
  check_close(F::batch_det(array<double>({2, 0, 0, 4, 4, 7, 2, 6}, {2, 2, 2}, test_device())), {2}, {8, 10});
  check_close(F::det(array<double>({2, 0, 0, 4, 4, 7, 2, 6}, {2, 1, 2, 2}, test_device())), {2, 1}, {8, 10});
  check_close(F::det(zeros({3, 0, 2, 2}, Dtype::float32, test_device())), {3, 0}, {});
  check_close(F::batch_det(zeros({0, 2, 2}, Dtype::float32, test_device())), {0}, {});
  check_close(F::batch_det(zeros({2, 0, 0}, Dtype::float32, test_device())), {2}, {1, 1});
}

TEST_CASE("det's gradients") {
  for (const int64_t n : {1, 2, 3, 4}) {
    CAPTURE(n);
    check_gradients([](const Variable& x) { return F::det(x); }, uniform({n, n}, -1, 1, 5));
    check_gradients([](const Variable& x) { return F::batch_det(x); }, uniform({3, n, n}, -1, 1));
    check_gradients([](const Variable& x) { return F::det(x); }, uniform({2, 1, n, n}, -1, 1));
  }
  const Variable x(array<double>({4, 7, 2, 6}, {2, 2}, test_device()));
  const std::vector<double> g = gradient(F::det(x), x), cofactors = {6, -2, -7, 4};
  for (size_t i = 0; i < 4; ++i) CHECK(g[i] == doctest::Approx(cofactors[i]).epsilon(1e-13));
}

TEST_CASE("det of a singular matrix has gradients") {
  const Variable x(array(kSingular3, {3, 3}, test_device()));
  const std::vector<double> g = gradient(F::det(x), x), cofactors = {-3, 6, -3, 6, -12, 6, -3, 6, -3};
  for (size_t i = 0; i < 9; ++i) CHECK(g[i] == doctest::Approx(cofactors[i]).epsilon(1e-12));
  const auto det = [](const Variable& v) { return F::det(v); };
  check_gradients(det, array(kSingular3, {3, 3}, test_device()));
  check_gradients(det, array<double>({1, 2, 3, 2, 4, 6, -1, -2, -3}, {3, 3}, test_device()));  // of rank 1
  check_gradients(det, zeros({2, 2}, Dtype::float64, test_device()));
  check_gradients(det, zeros({3, 3}, Dtype::float64, test_device()));
  check_gradients(det, zeros({1, 1}, Dtype::float64, test_device()));
  const Variable zero(array<float>({0, 0, 0, 5}, {2, 2}, test_device()));
  CHECK(gradient(F::det(zero), zero) == std::vector<double>{5, 0, 0, 0});
}

// d/dt of the gradient's derivative along fixed matrices, against its central difference.
TEST_CASE("det has a third derivative where it is not singular") {
  const Array u = uniform({3, 3}, -1, 1, 2), v = uniform({3, 3}, -1, 1, 3), w = uniform({3, 3}, -1, 1, 4);
  const auto along = [](const Variable& y, const Variable& x, const Array& direction) {
    const Variable seed(direction, false);
    return grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = true})[0];
  };
  const auto second = [&](const Variable& x) {
    const Variable g = along(F::det(x), x, ones({}, Dtype::float64, test_device()));
    return along(g, x, u);
  };
  const Array a = uniform({3, 3}, -1, 1, 5);
  const Variable x(a);
  const std::vector<double> third = along(second(x), x, v).to_vector<double>(), step = w.to_vector<double>();
  double exact = 0;
  for (size_t i = 0; i < 9; ++i) exact += third[i] * step[i];
  const auto at = [&](double t) {
    std::vector<double> moved = a.to_vector<double>();
    for (size_t i = 0; i < 9; ++i) moved[i] += t * step[i];
    const std::vector<double> y = second(Variable(array(moved, {3, 3}, test_device()))).to_vector<double>(),
                              weight = v.to_vector<double>();
    double sum = 0;
    for (size_t i = 0; i < 9; ++i) sum += y[i] * weight[i];
    return sum;
  };
  CHECK(exact == doctest::Approx((at(1e-4) - at(-1e-4)) / 2e-4).epsilon(1e-7));
}

TEST_CASE("det passes NaN on") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable x(array<double>({nan, 1, 2, 3}, {2, 2}, test_device()));
  const Variable y = F::det(x);
  CHECK(std::isnan(y.item<double>()));
  CHECK(std::isnan(gradient(y, x)[0]));
}

TEST_CASE("det's errors") {
  CHECK_THROWS_WITH_AS(F::det(ones({2, 3})), "F::det: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::det(ones({2})), "F::det: a has shape (2,): a.ndim must be at least 2 (1 < 2)", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_det(ones({2, 2})), "F::batch_det: a has shape (2, 2): a.ndim must equal 3 (2 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::det(int_ones({2, 2})), "F::det: a has dtype int64: a.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::det(Variable()), "F::det: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
