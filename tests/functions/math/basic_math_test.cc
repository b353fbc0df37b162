#include "kusari/framework/functions/math/basic_math.h"

#include <cmath>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/array/where.h"
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

TEST_CASE("a number beside integers is not rounded") {
  const Variable x(array<int32_t>({1, 2, -3}, test_device()), false);
  const auto check = [](const Variable& y, const std::vector<double>& expected) {
    CHECK(y.dtype() == Dtype::float32);
    check_close(y, {3}, expected);
  };
  check(x * 1.5, {1.5, 3, -4.5});
  check(1.5 * x, {1.5, 3, -4.5});
  check(x + 0.5f, {1.5, 2.5, -2.5});
  check(0.5 + x, {1.5, 2.5, -2.5});
  check(x - 0.25, {0.75, 1.75, -3.25});
  check(0.25 - x, {-0.75, -1.75, 3.25});
  check(x / 2, {0.5, 1, -1.5});
  check(x / 2.5, {0.4, 0.8, -1.2});
  check(6 / x, {6, 3, -2});
  check(F::pow(x, 2.0), {1, 4, 9});
  check(F::pow(x, -1.0), {1, 0.5, -1.0 / 3});
  check(F::pow(1.5, x), {1.5, 2.25, 1 / 3.375});
  // Integers stay integers beside an integer.
  CHECK((x * 2).dtype() == Dtype::int32);
  CHECK((3 - x).to_vector<int64_t>() == std::vector<int64_t>{2, 1, 6});
  const Variable cube = F::pow(x, 3);
  CHECK(cube.dtype() == Dtype::int32);
  CHECK(cube.to_vector<int64_t>() == std::vector<int64_t>{1, 8, -27});
  CHECK(F::pow(2, Variable(array<int64_t>({0, 5, 62}), false)).to_vector<int64_t>() ==
        std::vector<int64_t>{1, 32, int64_t{1} << 62});
  // Beyond what a double tells apart.
  const int64_t large = (int64_t{1} << 53) + 1;
  const Variable wide(array<int64_t>({2, -2}), false);
  CHECK((wide + large).to_vector<int64_t>() == std::vector<int64_t>{large + 2, large - 2});
  CHECK((wide - large).to_vector<int64_t>() == std::vector<int64_t>{2 - large, -2 - large});
  CHECK((large - wide).to_vector<int64_t>() == std::vector<int64_t>{large - 2, large + 2});
  CHECK((wide * large).to_vector<int64_t>() == std::vector<int64_t>{2 * large, -2 * large});
  const Variable units(array<int64_t>({1, -1}), false), exponents(array<int64_t>({0, 1}), false);
  CHECK(F::pow(Scalar(large), exponents).to_vector<int64_t>() == std::vector<int64_t>{1, large});
  CHECK(F::pow(units, Scalar(large)).to_vector<int64_t>() == std::vector<int64_t>{1, -1});
  // bool counts.
  const Variable truth(array<bool>({true, false}), false);
  CHECK((truth + 1).dtype() == Dtype::int64);
  CHECK((truth + 1).to_vector<int64_t>() == std::vector<int64_t>{2, 1});
  const auto dtype = using_config(&Config::dtype, DtypePolicy(Dtype::float64));
  CHECK((x * 1.5).dtype() == Dtype::float64);
}

TEST_CASE("a number divided by x: the derivative where squares are beyond the range of the dtype") {
  const Variable x(array<float>({300, -300}, test_device()).astype(Dtype::float16));
  const std::vector<double> gx = gradient(2 / x, x);
  CHECK(gx[0] == doctest::Approx(-2.0 / 90000).epsilon(1e-2).scale(0));
  CHECK(gx[1] == doctest::Approx(-2.0 / 90000).epsilon(1e-2).scale(0));
}

TEST_CASE("a floating array beside an integer variable is not rounded") {
  const Variable x(array<int32_t>({1, 2}), false);
  const Array half = array<float>({0.5f, 1.5f});
  check_close(x * half, {2}, {0.5, 3});
  check_close(half - x, {2}, {-0.5, -0.5});
  CHECK((x + array<int64_t>({int64_t{1} << 40, 0})).to_vector<int64_t>() ==
        std::vector<int64_t>{(int64_t{1} << 40) + 1, 2});
  CHECK((x + array<int8_t>({1, 1})).dtype() == Dtype::int32);
  CHECK((Variable(half, false) * array<double>({2, 2})).dtype() == Dtype::float32);
}

TEST_CASE("comparisons of variables are arrays of bools") {
  const Variable x(array<float>({1, 2, 3})), y(array<float>({3, 2, 1}));
  const BoolArray less = x < y;
  CHECK(less.dtype() == Dtype::bool_);
  using Bools = std::vector<bool>;
  CHECK(less.to_vector<bool>() == Bools{true, false, false});
  CHECK((x == y).to_vector<bool>() == Bools{false, true, false});
  CHECK((x != 2).to_vector<bool>() == Bools{true, false, true});
  CHECK((2 <= x).to_vector<bool>() == Bools{false, true, true});
  CHECK((x.array() > y).to_vector<bool>() == Bools{false, false, true});
  CHECK((x >= y.array()).to_vector<bool>() == Bools{false, true, true});
  check_close(F::where(x < 2.5, x, -y), {3}, {1, 2, -1});
  CHECK_THROWS_WITH_AS(static_cast<void>(x == Variable()), "operator==: b is an undefined array", StateError);
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
  const auto absolute = [](const Variable& x) { return F::absolute(x); };
  check_forward(
      absolute, [](double x) { return std::fabs(x); }, uniform({3, 4}, -2, 2));
  check_gradients(absolute, uniform({2, 3}, 0.5, 2));
  const Variable y = F::absolute(array<int8_t>({-100, 0, 7}, test_device()));
  CHECK(y.dtype() == Dtype::int8);
  CHECK(y.to_vector<int>() == std::vector<int>{100, 0, 7});
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
