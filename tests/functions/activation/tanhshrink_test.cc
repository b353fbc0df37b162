#include "kusari/framework/functions/activation/tanhshrink.h"

#include <cmath>
#include <limits>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("tanhshrink") {
  check_unary(
      "tanhshrink", F::tanhshrink, [](double x) { return x - std::tanh(x); }, -4, 4);
}

TEST_CASE("tanhshrink near zero keeps all digits") {
  // Taylor's series, whose first term left out is below 1e-17 of the sum.
  const auto series = [](double x) {
    const double t = x * x;
    return x * t * (1.0 / 3 + t * (-2.0 / 15 + t * (17.0 / 315 + t * (-62.0 / 2835 + t * 1382.0 / 155925))));
  };
  for (const double x : {1e-100, 1e-8, 1e-3, 0.02}) {
    CAPTURE(x);
    const double y = F::tanhshrink(on_test_device(array<double>({x}))).item<double>();
    CHECK(y == doctest::Approx(series(x)).epsilon(1e-15));
    CHECK(F::tanhshrink(on_test_device(array<double>({-x}))).item<double>() == -y);
  }
  for (const float x : {1e-8F, 1e-3F, 0.02F}) {
    CAPTURE(x);
    const float y = F::tanhshrink(on_test_device(array<float>({x}))).item<float>();
    CHECK(y == doctest::Approx(series(x)).epsilon(3e-7));
  }
  // On both sides of 1, where another formula begins: 1 - (e^2 - 1) / (e^2 + 1) = 2 / (e^2 + 1).
  const Variable around = F::tanhshrink(on_test_device(array<double>({std::nextafter(1.0, 0.0), 1})));
  for (const double y : around.to_vector<double>()) CHECK(y == doctest::Approx(0.238405844044235112).epsilon(1e-15));
}

TEST_CASE("tanhshrink far from zero") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable x(
        on_test_device(array<double>({-kInfinity, -1000, 0, 1000, kInfinity, std::nan("")})).astype(dtype));
    const Variable y = F::tanhshrink(x);
    check_close(y, {6}, {-kInfinity, -999, 0, 999, kInfinity, std::nan("")});
    check_close(array<double>(gradient(y, x)), {6}, {1, 1, 0, 1, 1, std::nan("")});
  }
}

TEST_CASE("tanhshrink: the fused gradient is the differentiable one") {
  const Variable x(on_test_device(uniform({7, 5}, -6, 6)));
  const Variable y = F::tanhshrink(x), seed(on_test_device(uniform({7, 5}, -1, 1, 2)));
  const auto gradient_of = [&](bool create_graph) {
    return grad({y}, {x},
                {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = create_graph})[0];
  };
  check_close(gradient_of(false), {7, 5}, gradient_of(true).to_vector<double>(), 10);
}

}  // namespace
}  // namespace kusari
