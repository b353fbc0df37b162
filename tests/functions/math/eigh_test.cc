#include "kusari/framework/functions/math/eigh.h"

#include <cmath>
#include <limits>

#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Variable symmetric(const Variable& x) { return (x + F::swapaxes(x, -1, -2)) * 0.5; }

TEST_CASE("eigh") {
  // What is above the diagonal does not matter.
  const Array a = array<double>({2, 99, 1, 2}, {2, 2}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const auto [values, vectors] = F::eigh(a.astype(dtype));
    CHECK(values.dtype() == dtype);
    CHECK(vectors.dtype() == dtype);
    check_close(values, {2}, {1, 3}, 4);
    check_close(vectors * vectors, {2, 2}, {0.5, 0.5, 0.5, 0.5}, 4);
  }
  const auto batch = F::eigh(array<double>({5, 0, 0, 3, 1, 0, 0, 2}, {2, 1, 2, 2}, test_device()));
  check_close(batch.values, {2, 1, 2}, {3, 5, 1, 2});
  check_close(batch.vectors * batch.vectors, {2, 1, 2, 2}, {0, 1, 1, 0, 1, 0, 0, 1});
  for (const Shape& shape : {Shape{0, 0}, Shape{2, 0, 0}, Shape{0, 3, 3}}) {
    const Variable x(zeros(shape, Dtype::float32, test_device()));
    const auto none = F::eigh(x);
    CHECK(none.vectors.shape() == shape);
    CHECK(gradient(none.vectors, x).empty());
  }
}

TEST_CASE("eigh's gradients") {
  const auto both = [](const Variable& x) {  // the sign of a vector is nobody's business
    const auto [values, vectors] = F::eigh(symmetric(x));
    return Variables{values, vectors * vectors};
  };
  for (const int64_t n : {1, 2, 3, 4}) {
    CAPTURE(n);
    check_gradients(both, uniform({n, n}, -2, 2, 3));
    check_gradients(both, uniform({2, n, n}, -2, 2, 4));
  }
  check_gradients([](const Variable& x) { return F::eigh(symmetric(x)).values; }, uniform({3, 3}, -2, 2));
  check_gradients(
      [](const Variable& x) {
        const Variable v = F::eigh(symmetric(x)).vectors;
        return v * v;
      },
      uniform({3, 3}, -2, 2));
}

TEST_CASE("eigh's gradient is symmetric, and where values are equal there is that of the values alone") {
  const Variable x(array<double>({2, 1, 1, 2}, {2, 2}, test_device()));
  const std::vector<double> g = gradient(F::eigh(x).values, x, array<double>({1, 0}, test_device()));
  const std::vector<double> expected = {0.5, -0.5, -0.5, 0.5};  // of the vector (1, -1) / sqrt(2)
  for (size_t i = 0; i < 4; ++i) CHECK(g[i] == doctest::Approx(expected[i]).epsilon(1e-13));
  const Variable one(array<double>({1, 0, 0, 1}, {2, 2}, test_device()));
  CHECK(gradient(F::eigh(one).values, one) == std::vector<double>{1, 0, 0, 1});
  for (const double value : gradient(F::eigh(one).vectors, one)) CHECK(!std::isfinite(value));
}

TEST_CASE("eigh of NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Variable x(array<double>({nan, 1, 1, 3, 5, 0, 0, 3}, {2, 2, 2}, test_device()));
  check_close(F::eigh(x).values, {2, 2}, {nan, nan, 3, 5});
  const std::vector<double> g = gradient(F::eigh(x).values, x);
  CHECK(std::isnan(g[0]));
  CHECK(g[4] == doctest::Approx(1));
}

TEST_CASE("eigh's errors") {
  CHECK_THROWS_WITH_AS(F::eigh(ones({2, 3})),
                       "F::eigh: a has shape (2, 3): a.shape[-2] must equal a.shape[-1] (2 != 3)", TypeError);
  CHECK_THROWS_AS(F::eigh(ones({2})), TypeError);
  CHECK_THROWS_WITH_AS(F::eigh(int_ones({2, 2})), "F::eigh: a has dtype int64: a.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::eigh(Variable()), "F::eigh: a is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari
