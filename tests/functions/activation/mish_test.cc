#include "kusari/framework/functions/activation/mish.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

double mish_formula(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

TEST_CASE("mish") { check_unary("mish", F::mish, mish_formula, -4, 4); }

TEST_CASE("mish far from zero") {
  const Variable x(array<double>({-1000, -40, 19, 21, 1000}));
  const Variable y = F::mish(x);
  // x exp(x) far below zero, x far above.
  check_close(y, {5}, {0, -40 * std::exp(-40.0), 19, 21, 1000});
  CHECK(y.to_vector<double>()[1] == doctest::Approx(-40 * std::exp(-40.0)).epsilon(1e-12));
  check_close(array<double>(gradient(y, x)), {5}, {0, -39 * std::exp(-40.0), 1, 1, 1});
  const auto single = F::mish(array<float>({-50.f, 30.f, 90.f})).to_vector<double>();
  CHECK(single[0] == doctest::Approx(-50 * std::exp(-50.0)).epsilon(1e-5));
  CHECK(single[1] == 30);
  CHECK(single[2] == 90);
}

TEST_CASE("mish: the fused gradient is the differentiable one") {
  const Variable x(uniform({7, 5}, -6, 30));
  const Variable y = F::mish(x), seed(uniform({7, 5}, -1, 1, 2));
  const auto gradient_of = [&](bool create_graph) {
    return grad({y}, {x},
                {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = create_graph})[0];
  };
  check_close(gradient_of(false), {7, 5}, gradient_of(true).to_vector<double>(), 10);
}

}  // namespace
}  // namespace kusari
