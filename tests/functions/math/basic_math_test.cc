#include "kusari/framework/functions/math/basic_math.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("binary operators") {
  const auto add = [](const Variable& a, const Variable& b) { return a + b; };
  const auto sub = [](const Variable& a, const Variable& b) { return a - b; };
  const auto mul = [](const Variable& a, const Variable& b) { return a * b; };
  const auto div = [](const Variable& a, const Variable& b) { return a / b; };
  const auto pow = [](const Variable& a, const Variable& b) { return F::pow(a, b); };
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}, Shape{3, 1, 2}}) {
    CAPTURE(to_string(shape));
    const Array a = uniform(shape, 0.5, 2, 1), b = uniform(shape, 0.5, 2, 2);
    check_forward(
        add, [](double x, double y) { return x + y; }, a, b);
    check_forward(
        sub, [](double x, double y) { return x - y; }, a, b);
    check_forward(
        mul, [](double x, double y) { return x * y; }, a, b);
    check_forward(
        div, [](double x, double y) { return x / y; }, a, b);
    check_forward(
        pow, [](double x, double y) { return std::pow(x, y); }, a, b);
    check_gradients(add, a, b);
    check_gradients(sub, a, b);
    check_gradients(mul, a, b);
    check_gradients(div, a, b);
    check_gradients(pow, a, b);
  }
}

TEST_CASE("binary operators broadcast") {
  const Array a = uniform({2, 1, 3}, 0.5, 2, 1), b = uniform({4, 1}, 0.5, 2, 2);
  const Variable y = Variable(a) - Variable(b);
  REQUIRE(y.shape() == Shape{2, 4, 3});
  const std::vector<double> x0 = a.to_vector<double>(), x1 = b.to_vector<double>(), values = y.to_vector<double>();
  for (size_t i = 0; i < 24; ++i) CHECK(values[i] == x0[i / 12 * 3 + i % 3] - x1[i / 3 % 4]);
  for (const Array& other : {b, uniform({}, 0.5, 2, 3), uniform({1, 2, 4, 3}, 0.5, 2, 4)}) {
    CAPTURE(to_string(other.shape()));
    check_gradients([](const Variable& p, const Variable& q) { return p + q; }, a, other);
    check_gradients([](const Variable& p, const Variable& q) { return p - q; }, a, other);
    check_gradients([](const Variable& p, const Variable& q) { return p * q; }, a, other);
    check_gradients([](const Variable& p, const Variable& q) { return p / q; }, a, other);
    check_gradients([](const Variable& p, const Variable& q) { return F::pow(p, q); }, a, other);
  }
}

TEST_CASE("operators with numbers") {
  const auto check = [](auto&& function, auto&& formula) {
    for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0}}) {
      const Array x = uniform(shape, 0.5, 2);
      check_forward(function, formula, x);
      check_gradients(function, x);
    }
  };
  check([](const Variable& x) { return x + 2.5; }, [](double x) { return x + 2.5; });
  check([](const Variable& x) { return 2.5 + x; }, [](double x) { return x + 2.5; });
  check([](const Variable& x) { return x - 2.5; }, [](double x) { return x - 2.5; });
  check([](const Variable& x) { return 2.5 - x; }, [](double x) { return 2.5 - x; });
  check([](const Variable& x) { return x * 3; }, [](double x) { return x * 3; });
  check([](const Variable& x) { return 3 * x; }, [](double x) { return x * 3; });
  check([](const Variable& x) { return x / 3; }, [](double x) { return x / 3; });
  check([](const Variable& x) { return 3 / x; }, [](double x) { return 3 / x; });
  check([](const Variable& x) { return -x; }, [](double x) { return -x; });
  check([](const Variable& x) { return +x; }, [](double x) { return x; });
  for (const double c : {2.0, 0.5, 3.0, -1.5, 0.0, 1.0}) {
    CAPTURE(c);
    check([&](const Variable& x) { return F::pow(x, c); }, [&](double x) { return std::pow(x, c); });
  }
  check([](const Variable& x) { return F::pow(3, x); }, [](double x) { return std::pow(3, x); });
}

TEST_CASE("operators with raw arrays take the variable's dtype") {
  const Variable x(array<float>({1, 2, 3}).astype(Dtype::float16));
  const Array other = array<double>({2, 4, 8});
  CHECK((x + other).dtype() == Dtype::float16);
  check_close(x + other, {3}, {3, 6, 11});
  check_close(x - other, {3}, {-1, -2, -5});
  check_close(x * other, {3}, {2, 8, 24});
  check_close(x / other, {3}, {0.5, 0.5, 0.375});
  check_close(other + x, {3}, {3, 6, 11});
  check_close(other - x, {3}, {1, 2, 5});
  check_close(other * x, {3}, {2, 8, 24});
  check_close(other / x, {3}, {2, 2, 8.0 / 3});
  CHECK(gradient(x * other, x) == std::vector<double>{2, 4, 8});
  CHECK((x + 1.5).dtype() == Dtype::float16);
}

TEST_CASE("operators that assign make a new variable") {
  const Variable x(array<float>({1, 2}));
  Variable y = x;
  y += x;
  y *= 3;
  y -= 1;
  y /= array<float>({5, 11});
  check_close(y, {2}, {1, 1});
  check_close(x, {2}, {1, 2});
  check_close(array<double>(gradient(y, x)), {2}, {6.0 / 5, 6.0 / 11}, 1e7);
}

TEST_CASE("one variable as both operands") {
  const Variable x(array<float>({2, -3}));
  CHECK(gradient(x * x, x) == std::vector<double>{4, -6});
  CHECK(gradient(x - x, x) == std::vector<double>{0, 0});
  CHECK(gradient(x + x, x) == std::vector<double>{2, 2});
}

TEST_CASE("integers can be added, subtracted and multiplied") {
  const Array a = array<int32_t>({1, 2}), b = array<int32_t>({3, 5});
  CHECK((Variable(a, false) * Variable(b, false) - 1).to_vector<int32_t>() == std::vector<int32_t>{2, 9});
  CHECK((-Variable(a, false)).dtype() == Dtype::int32);
  CHECK_THROWS_WITH_AS(Variable(a, false) / Variable(b, false), "F::div: a has dtype int32: a.dtype must be floating",
                       TypeError);
}

TEST_CASE("operands of different dtypes or shapes") {
  const Variable x(ones({2, 3})), y(ones({2, 3}, Dtype::float64)), z(ones({4}));
  CHECK_THROWS_WITH_AS(x * y,
                       "F::mul: a has dtype float32 but b has dtype float64: a.dtype must equal b.dtype "
                       "(float32 != float64)",
                       TypeError);
  CHECK_THROWS_WITH_AS(x + y,
                       "F::add: a has dtype float32 but b has dtype float64: a.dtype must equal b.dtype "
                       "(float32 != float64)",
                       TypeError);
  CHECK_THROWS_AS(x + z, TypeError);
  CHECK_THROWS_AS(x / z, TypeError);
}

TEST_CASE("F::add takes any number of arguments") {
  const Array a = uniform({2, 3}, -1, 1, 1), b = uniform({3}, -1, 1, 2), c = uniform({2, 1}, -1, 1, 3);
  const auto add = [](const Variable& x, const Variable& y, const Variable& z) { return F::add(x, y, z); };
  check_gradients(add, a, b, c);
  check_close(F::add(array<float>({1}), array<float>({2}), array<float>({4}), array<float>({8})), {1}, {15});
  CHECK_THROWS_WITH_AS(F::add(std::span<const Variable>()), "F::add: there must be at least one argument", ValueError);
}

TEST_CASE("absolute") {
  check_unary(
      "absolute", [](const Variable& x) { return F::absolute(x); }, [](double x) { return std::fabs(x); }, 0.5, 2);
  const Variable x(array<float>({-2, 0, 3}));
  CHECK(gradient(F::absolute(x), x) == std::vector<double>{-1, 0, 1});
}

TEST_CASE("a raw array gets no gradient") {
  const Variable x(array<float>({3})), c(array<float>({5}), false);
  (x * c).backward();
  CHECK(x.grad().item<float>() == 5);
  CHECK_FALSE(c.grad().is_defined());
}

}  // namespace
}  // namespace kusari
