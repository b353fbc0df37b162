#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

using Floats = std::vector<float>;
using Log = std::vector<std::string>;

Floats floats(const Array& a) { return a.to_vector<float>(); }

TEST_CASE("functions run by falling rank, ties in the order of their discovery") {
  Log log;
  const Variable x(ones({1}));
  const Variable a = testing::probe(x, "a", &log);
  const Variable b = testing::probe(a, "b", &log);
  const Variable c = testing::probe(b, "c", &log);
  const Variable d = testing::probe(a, "d", &log);  // beside b, but needed by e at c's height
  const Variable e = testing::probe(d, "e", &log);
  const Variable y = c + e;
  y.backward();
  // Discovery starts at y's inputs: c before e; they find b before d.
  CHECK(log == Log{"c", "e", "b", "d", "a"});
  CHECK(x.grad().item<float>() == 2);
}

TEST_CASE("a function runs once, after all that use its output") {
  Log log;
  const Variable x(ones({1}));
  const Variable a = testing::probe(x, "a", &log);
  const Variable far = testing::probe(testing::probe(a, "b", &log), "c", &log);
  const Variable y = a + far;  // a is an input at two distances
  y.backward();
  CHECK(log == Log{"c", "b", "a"});
  CHECK(x.grad().item<float>() == 2);
}

TEST_CASE("paths that need no gradient are not walked") {
  Log log;
  const Variable x(ones({1})), constant(ones({1}), false);
  const Variable y = testing::probe(x, "x", &log) + testing::probe(constant, "constant", &log);
  y.backward();
  CHECK(log == Log{"x"});
  CHECK_FALSE(constant.grad().is_defined());
}

TEST_CASE("gradients of leaves accumulate until they are cleared") {
  Variable x(array<float>({1, 2}));
  const auto run = [&] {
    Variable y = x * 3;
    y.set_grad(ones({2}));
    y.backward();
  };
  run();
  CHECK(floats(x.grad()) == Floats{3, 3});
  run();
  CHECK(floats(x.grad()) == Floats{6, 6});
  x.cleargrad();
  run();
  CHECK(floats(x.grad()) == Floats{3, 3});
  x.set_grad(array<float>({10, 20}));
  run();
  CHECK(floats(x.grad()) == Floats{13, 23});
}

TEST_CASE("accumulation leaves the arrays of others alone") {
  const Array seed = array<float>({1, 1}), own = array<float>({5, 5});
  Variable x(zeros({2})), z(zeros({2}));
  x.set_grad(own);
  Variable y = x + z;
  y.set_grad(seed);
  y.backward();
  CHECK(floats(x.grad()) == Floats{6, 6});
  CHECK(floats(z.grad()) == Floats{1, 1});
  CHECK(floats(seed) == Floats{1, 1});
  CHECK(floats(own) == Floats{5, 5});
  // x + z hands one array to both; scaling one gradient in place must not scale the other.
  z.grad().fill(7);
  CHECK(floats(x.grad()) == Floats{6, 6});
  CHECK(floats(seed) == Floats{1, 1});
  Variable a(zeros({2})), b(zeros({2}));
  Variable sum = a + b;
  sum.set_grad(seed);
  sum.backward();
  a.grad().fill(9);
  CHECK(floats(b.grad()) == Floats{1, 1});
  CHECK(floats(seed) == Floats{1, 1});
}

TEST_CASE("the seed of a single element is one") {
  const Variable x(full({}, 2, Dtype::float32));
  (x * x).backward();
  CHECK(x.grad().item<float>() == 4);
  const Variable v(full({1, 1}, 3, Dtype::float64));
  (v * v).backward();
  CHECK(v.grad().item<double>() == 6);
  CHECK(v.grad().shape() == Shape{1, 1});
}

TEST_CASE("a larger root without a gradient is an error") {
  const Variable x(ones({2}));
  CHECK_THROWS_WITH_AS(
      (x * 2).backward(),
      "Variable::backward: the variable has shape (2,) and no gradient; set one first, or start from a single element",
      ValueError);
  CHECK_FALSE(x.grad().is_defined());
}

TEST_CASE("the loss scale multiplies the default seed alone, and leaves remember it") {
  Variable x(full({}, 3, Dtype::float32));
  CHECK(x.loss_scale() == 1);
  (x * 2).backward({.loss_scale = 128});
  CHECK(x.grad().item<float>() == 256);
  CHECK(x.loss_scale() == 128);
  x.cleargrad();
  Variable y = x * 2;
  y.set_grad(full({}, 5, Dtype::float32));
  y.backward({.loss_scale = 128});
  CHECK(x.grad().item<float>() == 10);
}

TEST_CASE("gradients of passes with other loss scales are brought to the scale of the last one") {
  const auto on_device = [](double scale) { return full({}, scale, Dtype::float64); };
  const Variable x(array<float>({3, 4}));
  const auto backward = [&](const BackwardOptions& options) { functions::sum(x * 2).backward(options); };
  backward({});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 2});
  backward({.loss_scale = 8});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{32, 32});
  backward({.loss_scale = 8});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{48, 48});
  CHECK(x.loss_scale() == 8);
  backward({.device_loss_scale = on_device(4)});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{32, 32});
  const Array scale = on_device(64);
  for (int i = 0; i < 2; ++i) backward({.device_loss_scale = scale});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{768, 768});  // 6 passes
  CHECK(x.device_loss_scale().item<double>() == 64);
  backward({.loss_scale = 1});
  CHECK(x.grad().to_vector<float>() == std::vector<float>{14, 14});
  CHECK_FALSE(x.device_loss_scale().is_defined());

  const Variable z(full({}, 2, Dtype::float32));
  (z * z * z).backward({.enable_double_backprop = true, .loss_scale = 2});
  CHECK_THROWS_AS((z * z).backward({.loss_scale = 4}), StateError);
}

TEST_CASE("only leaves keep gradients, unless retain_grad") {
  const Variable x(full({}, 2, Dtype::float32));
  const Variable y = x * 3, z = y * y;
  z.backward();
  CHECK(x.grad().item<float>() == 36);
  CHECK_FALSE(y.grad().is_defined());
  CHECK_FALSE(z.grad().is_defined());
  Variable(x).cleargrad();
  z.backward({.retain_grad = true});
  CHECK(x.grad().item<float>() == 36);
  CHECK(y.grad().item<float>() == 12);
  CHECK(z.grad().item<float>() == 1);
}

TEST_CASE("the root's gradient is consumed") {
  const Variable x(ones({2}));
  Variable y = x * 2;
  y.set_grad(array<float>({1, 2}));
  y.backward();
  CHECK_FALSE(y.grad().is_defined());
  CHECK(floats(x.grad()) == Floats{2, 4});
  CHECK_THROWS_AS(y.backward(), ValueError);  // nothing to start from any more
}

TEST_CASE("several outputs of one function") {
  const Variable x(array<float>({1, 2}));
  SUBCASE("both used") {
    const Variables y = testing::fork(x);
    Variable sum = y[0] + y[1];
    sum.set_grad(ones({2}));
    sum.backward();
    CHECK(floats(x.grad()) == Floats{3, 3});
  }
  SUBCASE("one unused: its gradient is undefined") {
    const Variables y = testing::fork(x);
    Variable second = y[1];
    second.set_grad(ones({2}));
    second.backward();
    CHECK(floats(x.grad()) == Floats{2, 2});
  }
  SUBCASE("one gone") {
    Variable second = testing::fork(x)[1];
    second.set_grad(ones({2}));
    second.backward();
    CHECK(floats(x.grad()) == Floats{2, 2});
  }
  SUBCASE("a gradient set by hand stands in where none arrives, and is consumed") {
    Variables y = testing::fork(x);
    y[0].set_grad(array<float>({10, 10}));
    y[1].set_grad(ones({2}));
    y[1].backward();
    CHECK(floats(x.grad()) == Floats{12, 12});
    CHECK_FALSE(y[0].grad().is_defined());
  }
  SUBCASE("backward from both at once") {
    Variables y = testing::fork(x);
    y[0].set_grad(array<float>({10, 10}));
    y[1].set_grad(ones({2}));
    backward({y.data(), y.size()});
    CHECK(floats(x.grad()) == Floats{12, 12});
  }
}

TEST_CASE("backward from roots of different height") {
  const Variable x(full({}, 3, Dtype::float32));
  const Variable low = x * 2, high = low * low;
  const std::vector<Variable> roots{low, high};
  backward(roots);
  CHECK(x.grad().item<float>() == 2 + 2 * 6 * 2);
}

TEST_CASE("backward of a leaf touches nothing but its own seed") {
  const Variable x(full({}, 3, Dtype::float32));
  x.backward();
  CHECK(x.grad().item<float>() == 1);
}

TEST_CASE("retained outputs come back even when the caller dropped them") {
  const Array x0 = array<double>({2, 3});
  for (bool keep_outputs : {false, true}) {
    CAPTURE(keep_outputs);
    const Variable x(x0);
    Variable cube = apply_all<testing::Powers>({x}, keep_outputs)[1];  // output 0 is gone
    cube.set_grad(ones({2}, Dtype::float64));
    cube.backward({.enable_double_backprop = true});
    CHECK(x.grad().to_vector<double>() == std::vector<double>{12, 27});  // 3x^2
    // The second derivative flows through the revived output: 6x.
    const Variable gx = x.grad_var();
    const Variables ggx = grad({gx}, {x});
    CHECK(ggx[0].to_vector<double>() == std::vector<double>{12, 18});
  }
}

TEST_CASE("truncated backpropagation through time") {
  Variable x(full({}, 2, Dtype::float32));
  Variable h = x * 3, old = h;
  h.unchain_backward();
  CHECK(h.creator() == nullptr);
  CHECK(old.creator() == nullptr);
  Variable y = h * h;
  y.backward();
  CHECK_FALSE(x.grad().is_defined());
  CHECK(h.grad().item<float>() == 12);  // h is a leaf now

  // unchain cuts one edge, unchain_backward all below, also those of other live outputs.
  const Variable a = x * 2, b = a * 3;
  Variable c = b * 4;
  const Variable other = a * 5;
  c.unchain_backward();
  CHECK(b.creator() == nullptr);
  CHECK(a.creator() == nullptr);
  other.backward();
  CHECK_FALSE(x.grad().is_defined());
  Variable d = x * 7;
  Variable e = d * 2;
  e.unchain();
  CHECK(e.creator() == nullptr);
  CHECK(d.creator() != nullptr);
}

TEST_CASE("a backward inside a function's backward does not disturb the outer one") {
  // What F::forget does: build a graph again in backward and differentiate it.
  class Recompute final : public FunctionNode {
   public:
    const char* name() const override { return "recompute"; }

   private:
    Arrays forward(const ArrayRefs& in) override {
      retain_inputs({0});
      return {(Variable(in[0]) * Variable(in[0])).array()};
    }
    Variables backward(const Variables& gy) override {
      const auto mode = force_backprop_mode();
      Variable x(retained_input(0).array());
      Variable y = x * x;
      y.set_grad(gy[0].array());
      y.backward();
      return {Variable(x.grad(), false)};
    }
  };
  const Variable x(array<float>({1, 2}));
  const Variable a = x * 2;
  const Variable b = apply<Recompute>({a});
  const Variable c = apply<Recompute>({a}) + b * a;
  Variable y = c;
  y.set_grad(ones({2}));
  y.backward();
  // a^2 + a^3 with a = 2x: 2 (2a + 3a^2)
  CHECK(floats(x.grad()) == Floats{2 * (4 + 12), 2 * (8 + 48)});
}

TEST_CASE("wrong gradients are caught") {
  class WrongShape final : public FunctionNode {
   public:
    const char* name() const override { return "wrong_shape"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
    Variables backward(const Variables&) override { return {Variable(zeros({3}), false)}; }
  };
  class WrongCount final : public FunctionNode {
   public:
    const char* name() const override { return "wrong_count"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
    Variables backward(const Variables& gy) override { return {gy[0], gy[0]}; }
  };
  const Variable x(ones({1}));
  CHECK_THROWS_WITH_AS(apply<WrongShape>({x}).backward(),
                       "F::wrong_shape: backward gave input 0 a gradient of shape (3,) and dtype float32 but the input "
                       "has shape (1,) and dtype float32",
                       TypeError);
  CHECK_THROWS_WITH_AS(apply<WrongCount>({x}).backward(), "F::wrong_count: backward gave 2 gradients for 1 inputs",
                       Error);
}

TEST_CASE("asking for what was not retained says so") {
  class Forgets final : public FunctionNode {
   public:
    const char* name() const override { return "forgets"; }

   private:
    Arrays forward(const ArrayRefs& in) override { return {in[0].copy()}; }
    Variables backward(const Variables& gy) override { return {gy[0] * retained_input(0)}; }
  };
  const Variable y = apply<Forgets>({Variable(ones({1000}))});
  Variable(y).set_grad(ones({1000}));
  CHECK_THROWS_WITH_AS(y.backward(), "F::forgets: input 0 was not retained in forward", StateError);
  // Also where the array is still there: the variable lives, or is small.
  const Variable x(ones({1}));
  CHECK_THROWS_WITH_AS(apply<Forgets>({x}).backward(), "F::forgets: input 0 was not retained in forward", StateError);
}

}  // namespace
}  // namespace kusari
