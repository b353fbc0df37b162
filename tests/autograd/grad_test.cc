#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

namespace F = functions;
using Doubles = std::vector<double>;

Variable leaf(double value) { return Variable(full({}, value, Dtype::float64)); }

TEST_CASE("grad returns gradients and touches nobody's") {
  const Variable x = leaf(3), w = leaf(5);
  const Variable y = x * w;
  const Variables g = grad({y}, {x, w});
  CHECK(g[0].item<double>() == 5);
  CHECK(g[1].item<double>() == 3);
  CHECK_FALSE(x.grad().is_defined());
  CHECK_FALSE(w.grad().is_defined());
  const Variables again = grad({y}, {w}, {.set_grad = true});
  CHECK(w.grad().item<double>() == 3);
  CHECK_FALSE(x.grad().is_defined());
  CHECK(is_same(again[0], w.grad_var()));
}

TEST_CASE("seeds default to ones of any size, and may be given") {
  const Variable x(array<double>({1, 2, 3}));
  const Variable y = x * x;
  CHECK(grad({y}, {x})[0].to_vector<double>() == Doubles{2, 4, 6});
  const std::vector<Variable> seeds{Variable(array<double>({1, 10, 100}))};
  CHECK(grad({y}, {x}, {.grad_outputs = seeds})[0].to_vector<double>() == Doubles{2, 40, 600});
  CHECK(grad({y}, {x}, {.loss_scale = 4})[0].to_vector<double>() == Doubles{8, 16, 24});
  const std::vector<Variable> wrong(2);
  CHECK_THROWS_WITH_AS(grad({y}, {x}, {.grad_outputs = wrong}), "grad: grad_outputs has 2 entries, expected 1",
                       ValueError);
  const auto with_seed = [&](const Array& seed) {
    const std::vector<Variable> given{Variable(seed)};
    return grad({y}, {x}, {.grad_outputs = given});
  };
  CHECK_THROWS_WITH_AS(with_seed(ones({1}, Dtype::float64)),
                       "grad: grad_outputs[0] has shape (1,) and dtype float64 but the output has shape (3,) and dtype "
                       "float64: they must be equal",
                       TypeError);
  CHECK_THROWS_AS(with_seed(ones({3}, Dtype::float32)), TypeError);
}

TEST_CASE("gradients of a function with more results than 16 bits count") {
  const int64_t n = 65540;
  const Variable x(arange(n, Dtype::float64).reshape({n, 1}));
  Variable first, late;
  {
    const Variables rows = F::separate(x);
    first = rows[0];
    late = rows[65537];
  }
  (F::sum(first) + 3 * F::sum(late)).backward();
  const Doubles gradients = x.grad().to_vector<double>();
  CHECK(gradients[0] == 1);
  CHECK(gradients[1] == 0);
  CHECK(gradients[65537] == 3);
}

TEST_CASE("inputs may be intermediate, unreachable or the output itself") {
  const Variable x = leaf(2), other = leaf(1);
  const Variable h = x * 3, y = h * h;
  const Variables g = grad({y}, {h, x, other, y});
  CHECK(g[0].item<double>() == 12);
  CHECK(g[1].item<double>() == 36);
  CHECK_FALSE(g[2].is_defined());
  CHECK(g[3].item<double>() == 1);
}

TEST_CASE("only functions between outputs and inputs run") {
  std::vector<std::string> log;
  const Variable x = leaf(2), z = leaf(1);
  const Variable y = testing::probe(x, "x", &log) * testing::probe(z, "z", &log);
  grad({y}, {x});
  CHECK(log == std::vector<std::string>{"x"});
}

TEST_CASE("several outputs add up, given gradients are added") {
  const Variable x = leaf(2);
  const Variable a = x * x, b = a * x;
  CHECK(grad({a, b}, {x})[0].item<double>() == 4 + 12);
  const std::vector<Variable> start{leaf(100)};
  CHECK(grad({a}, {x}, {.grad_inputs = start})[0].item<double>() == 104);
  const Variable unrelated = leaf(1);
  CHECK(grad({a}, {unrelated}, {.grad_inputs = start})[0].item<double>() == 100);
}

TEST_CASE("derivatives of any order") {
  const Variable x = leaf(0.7);
  Variable y = F::sin(x);
  const double expected[] = {std::cos(0.7), -std::sin(0.7), -std::cos(0.7), std::sin(0.7), std::cos(0.7)};
  for (const double value : expected) {
    y = grad({y}, {x}, {.enable_double_backprop = true})[0];
    CHECK(y.item<double>() == doctest::Approx(value).epsilon(1e-14));
  }
  // Without it the result has no graph.
  CHECK(grad({F::sin(x)}, {x})[0].creator() == nullptr);
}

TEST_CASE("double backprop with respect to the seeds") {
  const Variable x = leaf(2), gy = leaf(5);
  const Variable y = x * x * x;
  const std::vector<Variable> seeds{gy};
  const Variable gx = grad({y}, {x}, {.grad_outputs = seeds, .enable_double_backprop = true})[0];
  CHECK(gx.item<double>() == 60);  // 3 x^2 gy
  const Variables second = grad({gx}, {x, gy});
  CHECK(second[0].item<double>() == 60);  // 6 x gy
  CHECK(second[1].item<double>() == 12);
}

TEST_CASE("a gradient penalty trains through backward of a gradient") {
  // L = (d/dx exp(w x))^2 with x = 1: (w e^w)^2; dL/dw = 2 w e^w (1 + w) e^w.
  const double w0 = 0.3;
  const Variable x = leaf(1), w = leaf(w0);
  const Variable y = F::exp(w * x);
  y.backward({.enable_double_backprop = true});
  const Variable gx = x.grad_var();
  CHECK(gx.item<double>() == doctest::Approx(w0 * std::exp(w0)));
  Variable(w).cleargrad();
  const Variable penalty = gx * gx;
  penalty.backward();
  CHECK(w.grad().item<double>() == doctest::Approx(2 * w0 * std::exp(w0) * (1 + w0) * std::exp(w0)));
}

TEST_CASE("gradients of broadcast operands sum over the repeats") {
  const Variable row(array<double>({1, 2, 3})), column(array<double>({10, 20}, {2, 1}));
  const Variables g = grad({row * column}, {row, column}, {.enable_double_backprop = true});
  CHECK(g[0].to_vector<double>() == Doubles{30, 30, 30});
  CHECK(g[1].to_vector<double>() == Doubles{6, 6});
  CHECK(g[1].shape() == Shape{2, 1});
  CHECK(grad({F::sum(g[0])}, {column})[0].to_vector<double>() == Doubles{3, 3});
}

TEST_CASE("grad takes its inputs from a vector") {
  const std::vector<Variable> x = {Variable(ones({2})), Variable(full({2}, 3.0, Dtype::float32))};
  const Variables g = grad({F::sum(x[0] * x[1])}, x);
  CHECK(g[0].to_vector<float>() == std::vector<float>{3, 3});
  CHECK(g[1].to_vector<float>() == std::vector<float>{1, 1});
}

}  // namespace
}  // namespace kusari
