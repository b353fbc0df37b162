#include <cmath>
#include <numbers>
#include <string>

#include "kusari/framework/functions/math/betainc.h"
#include "kusari/framework/functions/math/gammainc.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

Variable one(double value, Dtype dtype) { return Variable(full({}, value, dtype, test_device()), false); }

void check_number(const Variable& y, double expected) {
  CHECK(y.item<double>() == doctest::Approx(expected).epsilon(y.dtype() == Dtype::float64 ? 1e-13 : 1e-6).scale(0));
}

}  // namespace

TEST_CASE("gammainc, gammaincc: numbers of mpmath 1.4") {
  struct Case {
    double a, x, below, above;
  };
  for (const Case& c : {Case{0.5, 0.5, 0.6826894921370859, 0.3173105078629141},
                        {1, 2, 0.86466471676338731, 0.13533528323661269},
                        {2.5, 7, 0.98439058389973309, 0.015609416100266915},
                        {9, 3, 0.003802992061675957, 0.99619700793832404},
                        {16.5, 16, 0.48326039268967179, 0.51673960731032821},
                        {40, 60, 0.99745180769638668, 0.0025481923036133224},
                        {200, 180, 0.074858034984159582, 0.92514196501584042},
                        {5000, 5100, 0.92067111892238102, 0.079328881077618977},
                        {30000, 29900, 0.28228461596462975, 0.71771538403537025}}) {
    CAPTURE(c.a);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_number(F::gammainc(one(c.a, dtype), one(c.x, dtype)), c.below);
      check_number(F::gammaincc(one(c.a, dtype), one(c.x, dtype)), c.above);
    }
  }
  // From 1e6 on by an expansion: the two agree where they meet.
  const double low = F::gammainc(one(999999.999, Dtype::float64), one(1000500, Dtype::float64)).item<double>();
  CHECK(F::gammainc(one(1000000, Dtype::float64), one(1000500.001, Dtype::float64)).item<double>() ==
        doctest::Approx(low).epsilon(1e-9));
}

TEST_CASE("gammainc, gammaincc: edges and gradients") {
  const auto at = [](double a, double x) {
    return F::gammainc(one(a, Dtype::float64), one(x, Dtype::float64)).item<double>();
  };
  CHECK(at(2, 0) == 0);
  CHECK(at(2, INFINITY) == 1);
  CHECK(at(0, 1) == 1);
  CHECK(at(1e300, 1) == 0);
  CHECK(at(3, 1e300) == 1);
  for (const auto& [a, x] : {std::pair{-1.0, 1.0}, {1.0, -1.0}, {NAN, 1.0}, {1.0, NAN}, {INFINITY, INFINITY}})
    CHECK(std::isnan(at(a, x)));
  const Array a = uniform({2, 3}, 0.3, 5), x = uniform({2, 3}, 0.2, 8, 2);
  check_gradients([](const Variable& p, const Variable& q) { return F::gammainc(p, q); }, a, x);
  check_gradients([](const Variable& p, const Variable& q) { return F::gammaincc(p, q); }, a, x);
  check_gradients([](const Variable& p, const Variable& q) { return F::gammainc(p, q); }, uniform({3}, 20, 60),
                  uniform({2, 1}, 20, 60));
  CHECK_THROWS_AS(F::gammainc(int_ones({2, 3}), Variable(on_test_device(x))), TypeError);
  CHECK_THROWS_AS(F::gammainc(Variable(), Variable(on_test_device(x))), TypeError);
}

TEST_CASE("betainc: numbers of mpmath 1.4, edges and gradients") {
  struct Case {
    double a, b, x, share;
  };
  for (const Case& c : {Case{0.5, 0.5, 0.25, 0.33333333333333333},
                        {2, 3, 0.125, 0.078857421875},
                        {20, 4.5, 0.875, 0.76038988480242221},
                        {60, 60, 0.5, 0.5},
                        {1, 1, 0.75, 0.75},
                        {300, 7, 0.96875, 0.1560242068708747},
                        {0.5, 1000, 0.0009765625, 0.83779957548531941}}) {
    CAPTURE(c.a);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_number(F::betainc(one(c.a, dtype), one(c.b, dtype), one(c.x, dtype)), c.share);
    }
  }
  const auto at = [](double a, double b, double x) {
    return F::betainc(one(a, Dtype::float64), one(b, Dtype::float64), one(x, Dtype::float64)).item<double>();
  };
  CHECK(at(2, 3, 0) == 0);
  CHECK(at(2, 3, 1) == 1);
  CHECK(std::isnan(at(0, 1, 0.5)));
  CHECK(std::isnan(at(1, -1, 0.5)));
  CHECK(std::isnan(at(1, 1, 1.5)));
  CHECK(std::isnan(at(1, 1, NAN)));
  const Arrays inputs(on_test_device(uniform({2, 3}, 0.3, 5)), on_test_device(uniform({2, 3}, 0.3, 5, 2)),
                      on_test_device(uniform({2, 3}, 0.1, 0.9, 3)));
  const auto function = [](const Variable& a, const Variable& b, const Variable& x) { return F::betainc(a, b, x); };
  CHECK_NOTHROW(gradient_check::check_backward(function, inputs, {}, {.atol = 1e-5, .rtol = 1e-4}));
  check_gradients([&](const Variable& x) { return F::betainc(inputs[0], inputs[1], x); }, inputs[2]);
}

TEST_CASE("gammaincinv: numbers of mpmath 1.4, edges and gradients") {
  struct Case {
    double a, p, x;
  };
  for (const Case& c : {Case{0.5, 0.5, 0.22746821155978638},
                        {0.03125, 0.25, 3.1217242830505054e-20},
                        {1, 9.5367431640625e-07, 9.5367477115389001e-7},
                        {2.5, 0.96875, 6.1357966029106103},
                        {9, 0.125, 5.7174400045158263},
                        {200, 0.75, 209.34844008558921},
                        {5000, 0.0009765625, 4783.8511252483346},
                        {30000, 0.5, 29999.666667325111}}) {
    CAPTURE(c.a);
    CAPTURE(c.p);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_number(F::gammaincinv(one(c.a, dtype), one(c.p, dtype)), c.x);
    }
  }
  const auto at = [](double a, double p) {
    return F::gammaincinv(one(a, Dtype::float64), one(p, Dtype::float64)).item<double>();
  };
  CHECK(at(2, 0) == 0);
  CHECK(at(2, 1) == INFINITY);
  CHECK(at(1e-3, 1e-3) == 0);  // 1e-3000 or so
  for (const auto& [a, p] : {std::pair{0.0, 0.5}, {-1.0, 0.5}, {INFINITY, 0.5}, {1.0, -0.1}, {1.0, 1.1}, {NAN, 0.5}})
    CHECK(std::isnan(at(a, p)));
  const Array a = uniform({2, 3}, 0.3, 5), p = uniform({2, 3}, 0.1, 0.9, 2);
  check_gradients([](const Variable& u, const Variable& v) { return F::gammaincinv(u, v); }, a, p);
  CHECK_THROWS_WITH_AS(F::gammaincinv(Variable(on_test_device(a)), Variable()),
                       "F::gammaincinv: p is not given: it is required", TypeError);
  CHECK_THROWS_AS(F::gammaincinv(int_ones({2, 3}), Variable(on_test_device(p))), TypeError);
}

TEST_CASE("betaincinv: numbers of mpmath 1.4, edges and gradients") {
  struct Case {
    double a, b, p, x;
  };
  for (const Case& c : {Case{0.5, 0.5, 0.25, 0.14644660940672624},
                        {2, 3, 9.5367431640625e-07, 0.00039878598957099312},
                        {20, 4.5, 0.75, 0.87287747032678358},
                        {60, 60, 0.96875, 0.5845838540526857},
                        {300, 7, 0.5, 0.97822763255947498},
                        {0.5, 1000, 0.125, 1.2376342873511258e-5},
                        {0.125, 0.25, 0.0625, 4.3144028368144352e-9}}) {
    CAPTURE(c.a);
    CAPTURE(c.p);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      check_number(F::betaincinv(one(c.a, dtype), one(c.b, dtype), one(c.p, dtype)), c.x);
    }
  }
  const auto at = [](double a, double b, double p) {
    return F::betaincinv(one(a, Dtype::float64), one(b, Dtype::float64), one(p, Dtype::float64)).item<double>();
  };
  CHECK(at(2, 3, 0) == 0);
  CHECK(at(2, 3, 1) == 1);
  CHECK(at(1e-3, 1, 1e-3) == 0);
  CHECK(at(1, 1e-3, 1 - 1e-3) == 1);
  CHECK(std::isnan(at(0, 1, 0.5)));
  CHECK(std::isnan(at(1, INFINITY, 0.5)));
  CHECK(std::isnan(at(1, 1, 1.5)));
  CHECK(std::isnan(at(1, 1, NAN)));
  const Arrays inputs(on_test_device(uniform({2, 3}, 0.3, 5)), on_test_device(uniform({2, 3}, 0.3, 5, 2)),
                      on_test_device(uniform({2, 3}, 0.1, 0.9, 3)));
  const auto function = [](const Variable& a, const Variable& b, const Variable& p) { return F::betaincinv(a, b, p); };
  CHECK_NOTHROW(gradient_check::check_backward(function, inputs, {}, {.atol = 1e-5, .rtol = 1e-4}));
  check_gradients([&](const Variable& p) { return F::betaincinv(inputs[0], inputs[1], p); }, inputs[2]);
}

TEST_CASE("gammainc, betainc: derivatives by a small x, of which a power is 0 and the next one is not") {
  const auto at = [](double value) { return Variable(full({}, value, Dtype::float64, test_device())); };
  const Variable x = at(1e-300);
  CHECK(gradient(F::gammainc(at(1.5), x), x)[0] ==
        doctest::Approx(2e-150 / std::sqrt(std::numbers::pi)).epsilon(1e-12).scale(0));
  CHECK(gradient(F::betainc(at(2), at(3), x), x)[0] == doctest::Approx(12e-300).epsilon(1e-12).scale(0));
}
