#include "kusari/framework/autograd/gradient_check.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

namespace F = functions;

Array points() { return array<double>({-0.9, -0.3, 0.2, 0.5, 0.8, 1.3}, {2, 3}); }

/// sin(x), whose derivative is off by `error` times the right one.
class WrongSine final : public FunctionNode {
 public:
  explicit WrongSine(double error) : error_{error} {}
  const char* name() const override { return "wrong_sine"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {F::sin(Variable(in[0])).array()};
  }
  Variables backward(const Variables& gy) override { return {gy[0] * F::cos(retained_input(0)) * (1 + error_)}; }

  double error_;
};

/// The right first derivative, cut off from the graph: the second one is missing.
class NoSecond final : public FunctionNode {
 public:
  const char* name() const override { return "no_second"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {F::sin(Variable(in[0])).array()};
  }
  Variables backward(const Variables& gy) override {
    return {gy[0] * Variable(F::cos(retained_input(0)).array(), false)};
  }
};

TEST_CASE("right gradients pass") {
  const auto sine = [](const Variable& x) { return F::sin(x); };
  gradient_check::check_backward(sine, points());
  gradient_check::check_backward(sine, points(), full({2, 3}, 0.5, Dtype::float64));
  gradient_check::check_double_backward(sine, points());
  const auto product = [](const Variable& a, const Variable& b) { return a * b + F::exp(a); };
  gradient_check::check_backward(product, {points(), points().at(0)});
  gradient_check::check_double_backward(product, {points(), points().at(0)});
  const auto both = [](const Variables& x) { return Variables{x[0] * x[1], F::sin(x[0])}; };
  gradient_check::check_backward(both, {points(), points()});
  gradient_check::check_double_backward(both, {points(), points()});
  gradient_check::check_backward(sine, points(), {}, {.eps = 1e-2, .atol = 1e-3, .rtol = 1e-2, .dtype = std::nullopt});
  gradient_check::check_backward([](const Variable& x) { return apply_all<testing::Powers>({x}, true); }, points());
}

TEST_CASE("inputs of half precision are checked in float64") {
  gradient_check::check_backward([](const Variable& x) { return F::sin(x); }, points().astype(Dtype::float16));
  bool seen_double = false;
  gradient_check::check_backward(
      [&](const Variable& x) {
        seen_double = x.dtype() == Dtype::float64;
        return x * 2;
      },
      points().astype(Dtype::float16));
  CHECK(seen_double);
}

TEST_CASE("wrong gradients fail, however the error is spread") {
  for (double error : {1.0, 0.01, -0.001}) {
    CAPTURE(error);
    const auto wrong = [&](const Variable& x) { return apply<WrongSine>({x}, error); };
    CHECK_THROWS_AS(gradient_check::check_backward(wrong, points()), gradient_check::GradientError);
  }
  CHECK_NOTHROW(gradient_check::check_backward([](const Variable& x) { return apply<WrongSine>({x}, 0.0); }, points()));
}

TEST_CASE("the message states both derivatives, and those of each input") {
  const auto wrong = [](const Variable& a, const Variable& b) { return a * apply<WrongSine>({b}, 0.5); };
  try {
    gradient_check::check_backward(wrong, {points(), points()}, ones({2, 3}, Dtype::float64));
    FAIL("a wrong gradient passed");
  } catch (const gradient_check::GradientError& e) {
    const std::string text = e.what();
    CHECK(
        text.starts_with("gradient_check::check_backward: the gradient is wrong: along a random direction the "
                         "analytic derivative is "));
    double analytic[2], numeric[2];
    for (int i : {0, 1}) {
      const size_t at = text.find("x[" + std::to_string(i) + "] (2, 3): analytic ");
      REQUIRE(at != std::string::npos);
      REQUIRE(std::sscanf(text.c_str() + at, "x[%*d] (2, 3): analytic %lf, numeric %lf", &analytic[i], &numeric[i]) ==
              2);
    }
    CHECK(analytic[0] == doctest::Approx(numeric[0]).epsilon(1e-5));
    CHECK(analytic[1] == doctest::Approx(1.5 * numeric[1]).epsilon(1e-5));
  }
}

TEST_CASE("a missing second derivative fails only the second check") {
  const auto f = [](const Variable& x) { return apply<NoSecond>({x}); };
  CHECK_NOTHROW(gradient_check::check_backward(f, points()));
  CHECK_THROWS_AS(gradient_check::check_double_backward(f, points()), gradient_check::GradientError);
}

TEST_CASE("params are checked and restored") {
  Variable w(array<float>({0.5, -0.25, 2}));
  w.set_grad(array<float>({7, 7, 7}));
  const Array before = w.array();
  const auto right = [&](const Variable& x) { return F::sin(x) * w; };
  gradient_check::check_backward(right, points(), {}, {.params = {w}});
  gradient_check::check_double_backward(right, points(), {}, {}, {.params = {w}});
  CHECK(w.array().is_same(before));
  CHECK(w.grad().to_vector<float>() == std::vector<float>{7, 7, 7});
  const auto wrong = [&](const Variable& x) { return x * apply<WrongSine>({w}, 0.1); };
  CHECK_THROWS_AS(gradient_check::check_backward(wrong, points(), {}, {.params = {w}}), gradient_check::GradientError);
  CHECK(w.array().is_same(before));
  CHECK(w.to_vector<float>() == std::vector<float>{0.5, -0.25, 2});
}

TEST_CASE("inputs without gradients are left out") {
  const auto f = [](const Variable& x, const Variable& k) { return apply<WrongSine>({k}, 1.0) * x; };
  CHECK_THROWS_AS(gradient_check::check_backward(f, {points(), points()}), gradient_check::GradientError);
  CHECK_NOTHROW(gradient_check::check_backward(f, {points(), points()}, {}, {.no_grads = {false, true}}));
  CHECK_NOTHROW(gradient_check::check_double_backward(f, {points(), points()}, {}, {}, {.no_grads = {false, true}}));
  const auto indexed = [](const Variable& x, const Variable& i) {
    CHECK(i.dtype() == Dtype::int32);
    return x * 2;
  };
  CHECK_NOTHROW(gradient_check::check_backward(indexed, {points(), array<int32_t>({1})}));
  const auto optional = [](const Variable& x, const Variable& b) { return b.is_defined() ? x + b : x * 3; };
  CHECK_NOTHROW(gradient_check::check_backward(optional, {points(), Array()}));
}

TEST_CASE("empty arrays pass") {
  gradient_check::check_backward([](const Variable& x) { return F::sin(x); }, zeros({0, 3}));
}

TEST_CASE("numerical_grad is per element") {
  const auto f = [](const Variable& x, const Variable& y) { return x * x * y; };
  const Arrays g =
      gradient_check::numerical_grad(f, {array<double>({1, 2}), array<double>({3, 4})}, array<double>({1, 10}), 1e-4);
  CHECK(g[0].to_vector<double>()[0] == doctest::Approx(6));
  CHECK(g[0].to_vector<double>()[1] == doctest::Approx(160));
  CHECK(g[1].to_vector<double>()[0] == doctest::Approx(1));
  CHECK(g[1].to_vector<double>()[1] == doctest::Approx(40));
}

TEST_CASE("bad calls say what is wrong") {
  const auto sine = [](const Variable& x) { return F::sin(x); };
  CHECK_THROWS_WITH_AS(gradient_check::check_backward(sine, points(), {ones({2}), ones({2})}),
                       "gradient_check::check_backward: gy has 2 arrays, but the function returns 1", ValueError);
  CHECK_THROWS_WITH_AS(gradient_check::check_backward(sine, points(), ones({2})),
                       "gradient_check::check_backward: gy[0] has shape (2,) but the output has shape (2, 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(gradient_check::check_backward(sine, points(), {}, {.no_grads = {true, false}}),
                       "gradient_check::check_backward: no_grads has 2 entries for 1 inputs", ValueError);
  CHECK_THROWS_WITH_AS(gradient_check::check_backward(sine, points(), {}, {.no_grads = {true}}),
                       "gradient_check::check_backward: no input or param has a gradient", ValueError);
  CHECK_THROWS_WITH_AS(gradient_check::check_backward(sine, {points(), points()}),
                       "gradient_check: the function does not take 2 variables", TypeError);
  CHECK_THROWS_WITH_AS(gradient_check::check_double_backward(sine, points(), {}, {}, {.no_grads = {true, false}}),
                       "gradient_check::check_double_backward: no_grads has 2 entries for 1 inputs", ValueError);
  CHECK_THROWS_WITH_AS(gradient_check::check_double_backward(sine, points(), {ones({2}), ones({2})}),
                       "gradient_check::check_double_backward: gy has 2 arrays, but the function returns 1",
                       ValueError);
}

}  // namespace
}  // namespace kusari
