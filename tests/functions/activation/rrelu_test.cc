#include "kusari/framework/functions/activation/rrelu.h"

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("rrelu draws slopes in training") {
  random::seed(1);
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable x(full({50, 40}, -1, dtype, test_device()));
    Array r;
    const Variable y = F::rrelu(x, 0.25, 0.75, {.return_r = &r});
    CHECK(y.dtype() == dtype);
    double low = 1, high = 0, sum = 0;
    const std::vector<double> values = y.to_vector<double>();
    for (const double v : values) {
      low = std::min(low, -v);
      high = std::max(high, -v);
      sum -= v;
    }
    CHECK(low >= 0.25);
    CHECK(high <= 0.75);
    CHECK(low < 0.26);
    CHECK(high > 0.74);
    CHECK(sum / 2000 == doctest::Approx(0.5).epsilon(0.04));  // the mean of 2000 draws deviates by 0.0032
    CHECK(r.dtype() == dtype);
    CHECK(gradient(y, x) == r.to_vector<double>());
    CHECK(F::rrelu(-x, 0.25, 0.75).to_vector<double>() == std::vector<double>(2000, 1));
  }
}

TEST_CASE("rrelu with given slopes") {
  const Array x = uniform({3, 4}, -1, 1), r = uniform({3, 4}, 0.1, 0.9, 2);
  check_forward([](const Variable& v, const Variable& s) { return F::rrelu(v, 0.1, 0.2, {.r = s.array()}); },
                [](double v, double s) { return v >= 0 ? v : s * v; }, x, r);
  check_gradients([&](const Variable& v) { return F::rrelu(v, 0.1, 0.2, {.r = on_test_device(r)}); }, x);
  // A slope of 0 hides the sign of x from y.
  const Variable negative(full({1}, -2, Dtype::float32, test_device()));
  const Array zero = zeros({1}, Dtype::float32, test_device());
  CHECK(gradient(F::rrelu(negative, 0.1, 0.2, {.r = zero}), negative) == std::vector<double>{0});
  CHECK_THROWS_WITH_AS(F::rrelu(on_test_device(x), 0.1, 0.2, {.r = zero.astype(Dtype::float64)}),
                       "F::rrelu: r has shape (1,) but x has shape (3, 4): r.shape must equal x.shape", TypeError);
  CHECK_THROWS_WITH_AS(F::rrelu(on_test_device(x), 0.1, 0.2, {.r = zero}),
                       "F::rrelu: r has dtype float32 but x has dtype float64: r.dtype must equal x.dtype "
                       "(float32 != float64)",
                       TypeError);
}

TEST_CASE("rrelu takes the mean slope outside of training") {
  const auto guard = using_config(&Config::train, false);
  Array r;
  const auto rrelu = [&](const Variable& x) { return F::rrelu(x, 0.25, 0.5, {.return_r = &r}); };
  check_unary(
      "rrelu", rrelu, [](double v) { return v >= 0 ? v : 0.375 * v; }, -1, 1);
  rrelu(Variable(uniform({2, 3}, -1, 1)));
  CHECK(r.to_vector<double>() == std::vector<double>(6, 0.375));
  const Variable zero(zeros({1}, Dtype::float32, test_device()));
  CHECK(gradient(rrelu(zero), zero) == std::vector<double>{1});
}

TEST_CASE("rrelu with wrong bounds") {
  const Variable x(ones({2}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(F::rrelu(x, 0.5, 0.25), "F::rrelu: l is 0.5 and u is 0.25: 0 <= l < u < 1 must hold",
                       ValueError);
  CHECK_THROWS_AS(F::rrelu(x, -0.1, 0.5), ValueError);
  CHECK_THROWS_AS(F::rrelu(x, 0.1, 1), ValueError);
  CHECK_THROWS_WITH_AS(F::rrelu(int_ones({2})), "F::rrelu: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
