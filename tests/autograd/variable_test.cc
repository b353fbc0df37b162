#include "kusari/framework/autograd/variable.h"

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

using Floats = std::vector<float>;

TEST_CASE("a variable is a handle") {
  const Variable none;
  CHECK_FALSE(none.is_defined());
  Variable x(array<float>({1, 2, 3}));
  const Variable same = x;
  CHECK(is_same(x, same));
  CHECK_FALSE(is_same(x, Variable(x.array())));
  x.set_name("x");
  CHECK(same.name() == "x");
  CHECK(Variable(zeros({1})).name().empty());
  CHECK(x.shape() == Shape{3});
  CHECK(x.ndim() == 1);
  CHECK(x.size() == 3);
  CHECK(x.dtype() == Dtype::float32);
  CHECK(x.device() == Device());
  CHECK(x.rank() == 0);
  CHECK(x.creator() == nullptr);
  CHECK(Variable(full({}, 2, Dtype::float32)).item<float>() == 2);
}

TEST_CASE("who requires a gradient") {
  const Array a = ones({2});
  CHECK(Variable(a).requires_grad());
  CHECK(Variable(ones({2}, Dtype::int32)).requires_grad());  // whatever the dtype, as in Chainer
  CHECK_FALSE(Variable(a, false).requires_grad());
  const auto passed_raw = [](const Variable& v) { return v.requires_grad(); };
  CHECK_FALSE(passed_raw(a));

  const Variable x(a), constant(a, false);
  CHECK((x + constant).requires_grad());
  CHECK_FALSE((constant + constant).requires_grad());
  CHECK((constant + constant).creator() == nullptr);
  CHECK((x + x).creator() != nullptr);
  CHECK((x + x).rank() == 1);
  CHECK((x + (x + x)).rank() == 2);
}

TEST_CASE("without backprop an output says whether it would need a gradient, but has no creator") {
  const Variable x(ones({2})), constant(ones({2}), false);
  const auto mode = no_backprop_mode();
  const Variable y = x * 2;
  CHECK(y.requires_grad());
  CHECK(y.creator() == nullptr);
  CHECK(y.rank() == 0);
  CHECK_FALSE((constant * 2).requires_grad());
  {
    const auto force = force_backprop_mode();
    CHECK((x * 2).creator() != nullptr);
  }
  CHECK((x * 2).creator() == nullptr);
}

TEST_CASE("gradients are set, read and cleared") {
  Variable x(array<float>({1, 2}));
  CHECK_FALSE(x.grad().is_defined());
  CHECK_FALSE(x.grad_var().is_defined());
  const Array g = array<float>({3, 4});
  x.set_grad(g);
  CHECK(x.grad().is_same(g));
  CHECK_FALSE(x.grad_var().requires_grad());
  x.set_grad(Array());
  CHECK_FALSE(x.grad().is_defined());
  x.set_grad(g);
  x.cleargrad();
  CHECK_FALSE(x.grad().is_defined());
  const Variable v(g);
  x.set_grad_var(v);
  CHECK(is_same(x.grad_var(), v));
  CHECK_THROWS_WITH_AS(
      x.set_grad(zeros({3})),
      "Variable::set_grad: the gradient has shape (3,) and dtype float32 but the variable has (2,) and "
      "float32",
      TypeError);
  CHECK_THROWS_AS(x.set_grad(zeros({2}, Dtype::float64)), TypeError);
  CHECK(is_same(x.grad_var(), v));
  CHECK_THROWS_AS(x.set_array(zeros({3})), TypeError);
  x.cleargrad();
  x.set_array(zeros({3}));
  CHECK(x.shape() == Shape{3});
}

TEST_CASE("only what functions retain outlives its variables") {
  int released = 0;
  Floats buffer(1000, 2.0f);  // large enough not to be kept beside its vertex
  SUBCASE("addition keeps nothing") {
    Variable x(testing::counted_array(buffer, &released));
    const Variable y = x + x;
    x = Variable();
    CHECK(released == 1);
    CHECK(y.creator()->input_node(0)->shape() == Shape{1000});  // shape and dtype are remembered
    CHECK(y.creator()->input_node(0)->dtype() == Dtype::float32);
  }
  SUBCASE("multiplication keeps both inputs until the graph goes") {
    Variable x(testing::counted_array(buffer, &released));
    Variable y = x * x;
    x = Variable();
    CHECK(released == 0);
    y = Variable();
    CHECK(released == 1);
  }
  SUBCASE("nothing is kept without backprop") {
    const auto mode = no_backprop_mode();
    Variable x(testing::counted_array(buffer, &released));
    const Variable y = x * x;
    x = Variable();
    CHECK(released == 1);
  }
  SUBCASE("backward does not free the graph") {
    Variable x(testing::counted_array(buffer, &released));
    Variable y = x * x;
    y.set_grad(ones({1000}));
    y.backward();
    y.set_grad(ones({1000}));
    y.backward();
    CHECK(x.grad().to_vector<float>() == Floats(1000, 8.0f));  // 2 * 2x
    x = Variable();
    CHECK(released == 0);
    y = Variable();
    CHECK(released == 1);
  }
}

TEST_CASE("a graph of a million functions is built, differentiated and freed") {
  constexpr int kNodes = 1000000;
  Variable x(ones({1}));
  {
    Variable y = x;
    for (int i = 0; i < kNodes; ++i) y = y + 1.0f;
    CHECK(y.rank() == kNodes);
    CHECK(y.item<float>() == kNodes + 1);
    y.backward();
    CHECK(x.grad().item<float>() == 1);
  }
  {
    // Each sum names its predecessor twice: 2^n paths, but every function runs once.
    Variable y = x;
    for (int i = 0; i < 1000; ++i) y = (y + y) * 0.5f;
    x.cleargrad();
    y.backward();
    CHECK(x.grad().item<float>() == 1);
  }
}

TEST_CASE("a long graph with its gradients' graph is freed without recursion") {
  constexpr int kFactors = 100000;
  Variable x(array<double>({1.00001}));
  Variable y = x;
  for (int i = 1; i < kFactors; ++i) y = y * x;
  y.backward({.enable_double_backprop = true});
  CHECK(x.grad_var().creator() != nullptr);
  CHECK(x.grad().item<double>() == doctest::Approx(kFactors * std::pow(1.00001, kFactors - 1)).epsilon(1e-9));
}

TEST_CASE("variable: an undefined one says so") {
  Variable x;
  const char* const message =
      "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array";
  CHECK_THROWS_WITH_AS(x.array(), message, StateError);
  CHECK_THROWS_WITH_AS(x.shape(), message, StateError);
  CHECK_THROWS_WITH_AS(x.ndim(), message, StateError);
  CHECK_THROWS_WITH_AS(x.dtype(), message, StateError);
  CHECK_THROWS_WITH_AS(x.requires_grad(), message, StateError);
  CHECK_THROWS_WITH_AS(x.grad(), message, StateError);
  CHECK_THROWS_WITH_AS(x.set_grad(ones({2})), message, StateError);
  CHECK_THROWS_WITH_AS(x.cleargrad(), message, StateError);
  CHECK_THROWS_WITH_AS(x.set_name("x"), message, StateError);
}

std::string printed(const Variable& variable) {
  std::ostringstream stream;
  stream << variable;
  CHECK(stream.str() == to_string(variable));
  return stream.str();
}

// str(chainer.Variable(a)) of Chainer 7.8.
TEST_CASE("variables print as Chainer's") {
  CHECK(printed(Variable(array<float>({1, 2, 3}))) == "variable([1. 2. 3.])");
  CHECK(printed(Variable(array<float>({1, 2, 3, 4}, {2, 2}))) == "variable([[1. 2.]\n          [3. 4.]])");
  CHECK(printed(Variable(array(2.5f))) == "variable(2.5)");
  CHECK(printed(Variable(array(3.0f))) == "variable(3.)");
  CHECK(printed(Variable(array<int>({1, -2}), false)) == "variable([ 1 -2])");
  CHECK(printed(Variable(zeros({0, 3}))) == "variable([])");
  Variable x(array<float>({1}));
  x.set_name("W");
  CHECK(printed(x) == "variable W([1.])");
  CHECK(printed(Variable()) == "variable(None)");
  CHECK(printed(Variable(Array())) == "variable(None)");
}

TEST_CASE("a variable that never had an array has no shape") {
  const Variable x{Array()};
  CHECK_THROWS_AS(x.shape(), StateError);
  CHECK_THROWS_AS(x.dtype(), StateError);
  CHECK_THROWS_AS(x.size(), StateError);
  CHECK_THROWS_AS(x.backward(), StateError);
}

}  // namespace
}  // namespace kusari
